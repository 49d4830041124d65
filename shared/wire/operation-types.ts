import type { z } from 'zod'
import type { operations } from './operations.ts'

type Operations = typeof operations

/** Operation by method and path, such as `GET /devices/{id}`. */
export type OperationName = keyof Operations

/** Response of a successful operation. */
export type AnswerOf<Name extends OperationName> = z.output<Operations[Name]['answer']>

type QueryOf<Name extends OperationName> = Operations[Name] extends { query: infer Query extends z.ZodType }
  ? { query?: Loosened<z.input<Query>> }
  : { query?: never }

type BodyOf<Name extends OperationName> = Operations[Name] extends { body: infer Body extends z.ZodType }
  ? { body: z.input<Body> }
  : { body?: never }

type QueryScalar = string | number | boolean

/** Query parameter: a list is sent as repeated parameters, undefined is not sent. */
export type QueryValue = QueryScalar | readonly QueryScalar[] | undefined

/** Accepts numbers for number parameters, which are text in a URL. */
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

/** Input of an operation: its path parameters, query and body, as far as it has them. */
export type InputOf<Name extends OperationName> = PathOf<Name> & QueryOf<Name> & BodyOf<Name>
