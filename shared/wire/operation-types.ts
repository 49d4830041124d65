import type { z } from 'zod'
import type { operations } from './operations.ts'

type Operations = typeof operations

/** An operation by method and path, such as `GET /devices/{id}`. */
export type OperationName = keyof Operations

/** What an operation answers when all is well. */
export type AnswerOf<Name extends OperationName> = z.output<Operations[Name]['answer']>

type QueryOf<Name extends OperationName> = Operations[Name] extends { query: infer Query extends z.ZodType }
  ? { query?: Loosened<z.input<Query>> }
  : { query?: never }

type BodyOf<Name extends OperationName> = Operations[Name] extends { body: infer Body extends z.ZodType }
  ? { body: z.input<Body> }
  : { body?: never }

type QueryScalar = string | number | boolean

/** One parameter of a query: a list is sent repeated, undefined is not sent. */
export type QueryValue = QueryScalar | readonly QueryScalar[] | undefined

/** In a URL everything is text, so what is read as a number may be given as one. */
type Loosened<Query> = { [Key in keyof Query]: LoosenedValue<Query[Key]> | undefined }
type LoosenedValue<Value> = unknown extends Value
  ? QueryValue
  : Value extends readonly unknown[]
    ? readonly QueryScalar[]
    : string extends Value
      ? QueryScalar
      : Value

type PathParameter<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | PathParameter<Rest>
  : never

type PathOf<Name extends string> = [PathParameter<Name>] extends [never]
  ? { path?: never }
  : { path: Record<PathParameter<Name>, string | number> }

/** What an operation is given: path parameters, query and body, as far as it has them. */
export type InputOf<Name extends OperationName> = PathOf<Name> & QueryOf<Name> & BodyOf<Name>
