import type { OpenApiDocument, Operation, Parameter } from '#shared/http/openapi.ts'
import type { JsonSchema } from '#shared/http/openapi-schemas.ts'
import { operations } from '#shared/wire/operations.ts'
import { comment, field, fieldsType, schemaType } from './schema-type.ts'

// The same as in shared/wire/operation-types.ts; the test compares them.
const FIXED_TYPES = `type QueryScalar = string | number | boolean

/** One parameter of a query: a list is sent repeated, undefined is not sent. */
export type QueryValue = QueryScalar | readonly QueryScalar[] | undefined

/** An operation by method and path, such as \`GET /devices/{id}\`. */
export type OperationName = keyof Operations

/** What an operation answers when all is well. */
export type AnswerOf<Name extends OperationName> = Operations[Name]['answer']

/** What an operation is given: path parameters, query and body, as far as it has them. */
export type InputOf<Name extends OperationName> = Operations[Name]['input']
`

/**
 * Returns the types of `shared/wire/operation-types.ts` without zod, written from the OpenAPI document of a gateway:
 * every component by its name, and the input and output of each operation.
 */
export function operationTypes({ components, paths }: OpenApiDocument): string {
  const named = Object.entries(components.schemas).map(([name, schema]) =>
    [comment(schema.description), `export type ${name} = ${schemaType(schema)}\n`].join(''),
  )
  const fields = Object.keys(operations).map((name) => {
    const [method = '', path = ''] = name.split(' ')
    const operation = paths[path]?.[method.toLowerCase()]
    if (operation === undefined) throw new Error(`the OpenAPI document has no ${name}`)
    return field(name, operationType(operation), true, [operation.summary, operation.description].join('. '))
  })
  return [FIXED_TYPES, ...named, `export interface Operations ${fieldsType(fields)}\n`].join('\n')
}

function operationType({ parameters, requestBody, responses }: Operation): string {
  const success = Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1]
  const answer = success !== undefined && 'content' in success ? jsonOf(success.content) : undefined
  const body = requestBody === undefined ? undefined : bodyType(requestBody.content)
  const input = fieldsType([
    inputPart('path', inPlace(parameters, 'path').map(pathField)),
    inputPart('query', inPlace(parameters, 'query').map(queryField), '?'),
    `body${body === undefined ? '?: never' : `: ${body}`}`,
  ])
  // anything other than JSON is returned as text
  const answerType = answer === undefined ? 'string' : schemaType(answer)
  return fieldsType([field('input', input, true), field('answer', answerType, true)])
}

/** A body other than JSON is a file, which carries its own type. */
function bodyType(content: Record<string, { schema?: JsonSchema }>): string {
  const json = jsonOf(content)
  return json === undefined ? 'Blob' : schemaType(json)
}

function jsonOf(content: Record<string, { schema?: JsonSchema }> = {}): JsonSchema | undefined {
  return content['application/json']?.schema
}

function inPlace(parameters: readonly Parameter[], place: Parameter['in']): Parameter[] {
  return parameters.filter((parameter) => parameter.in === place)
}

function inputPart(name: string, fields: readonly string[], mark: '?' | '' = ''): string {
  return fields.length === 0 ? `${name}?: never` : `${name}${mark}: ${fieldsType(fields)}`
}

function pathField({ name, description }: Parameter): string {
  return field(name, 'string | number', true, description)
}

/** In a URL everything is text, so a caller may pass numbers for parameters that the gateway reads as text. */
function queryField({ name, required, description, schema }: Parameter): string {
  if (name.endsWith('*')) {
    return `${comment(description)}[name: \`${name.slice(0, -1)}\${string}\`]: QueryValue`
  }
  const single = schema.enum === undefined ? 'QueryScalar' : schemaType(schema)
  return field(name, schema.type === 'array' ? 'readonly QueryScalar[]' : single, required, description)
}
