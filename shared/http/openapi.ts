import type { OpenAPIHono, RouteConfig } from '@hono/zod-openapi'
import type { Handler } from 'hono'
import { z } from 'zod'
import { readVersion } from '#shared/version.ts'
import { problemSchema } from '#shared/wire/problem.ts'
import type { RequestEnv } from './api-env.ts'
import { type JsonSchema, SchemaComponents } from './openapi-schemas.ts'
import { allTags, operationIdOf, type Tag, type Tags, tagOf } from './operation-names.ts'
import { PROBLEM_TYPE, PROBLEMS } from './responses.ts'

export interface Reference {
  $ref: string
}

export interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  required: boolean
  description?: string
  schema: JsonSchema
  style?: 'form'
  explode?: boolean
}

export interface Header {
  description: string
  required: boolean
  schema: JsonSchema
}

export interface ApiResponse {
  description: string
  headers?: Record<string, Header | Reference>
  content?: Record<string, { schema?: JsonSchema }>
}

export interface Operation {
  operationId: string
  summary: string
  description?: string
  deprecated?: boolean
  tags: string[]
  /** Empty when no key is needed; the role that is needed is named as OpenAPI 3.1 names roles. */
  security: { ApiKeyAuth: string[] }[]
  parameters: Parameter[]
  requestBody?: { required: boolean; description?: string; content: Record<string, { schema?: JsonSchema }> }
  responses: Record<string, ApiResponse | Reference>
}

export interface OpenApiDocument {
  openapi: '3.1.0'
  info: { title: string; version: string; description: string }
  servers: { url: string; description: string }[]
  tags: Tag[]
  paths: Record<string, Record<string, Operation>>
  'x-error-codes': ErrorCodes
  components: {
    schemas: Record<string, JsonSchema>
    responses: Record<string, ApiResponse>
    headers: Record<string, Header>
    securitySchemes: Record<string, Record<string, string>>
  }
}

/** What decides who may call: read from the handlers that run, so the document cannot say otherwise. */
export interface Doors<Env extends RequestEnv> {
  /** Every route after it needs a key. */
  withKey: Handler<Env>
  /** By the name of the role that may pass. */
  roles: Readonly<Record<string, Handler<Env>>>
}

/** What each `code` of an error means. */
export type ErrorCodes = Readonly<Record<string, { status: number; meaning: string }>>

/** What a document says that the routes do not. */
export interface DocumentAbout {
  title: string
  /** CommonMark. */
  description: string
  /** What answers at this address, with an article. */
  server: string
  tags: Tags
  errorCodes: ErrorCodes
}

const REQUEST_ID_HEADER = { 'X-Request-Id': { $ref: '#/components/headers/RequestId' } }
const RETRY_AFTER_HEADER = { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } }
const AUTHENTICATE_HEADER = { 'WWW-Authenticate': { $ref: '#/components/headers/WwwAuthenticate' } }

/** The OpenAPI 3.1 document of an app: everything that was mounted with `openapi(createRoute(…))`. */
export function createOpenApiDocument<Env extends RequestEnv>(
  app: OpenAPIHono<Env>,
  doors: Doors<Env>,
  about: DocumentAbout,
): OpenApiDocument {
  const components = new SchemaComponents()
  const paths: OpenApiDocument['paths'] = {}
  for (const definition of app.openAPIRegistry.definitions) {
    if (definition.type !== 'route') continue
    const { route } = definition
    const operation = toOperation(route, components, securityOf(app.routes, route, doors), about.tags)
    paths[route.path] = { ...paths[route.path], [route.method]: operation }
  }
  const used = new Set(
    Object.values(paths).flatMap((path) => Object.values(path).flatMap(({ tags }) => tags)),
  )
  return {
    openapi: '3.1.0',
    info: {
      title: about.title,
      version: readVersion().replace('cartbarn ', ''),
      description: about.description,
    },
    servers: [{ url: '/', description: `${about.server} this document comes from.` }],
    tags: allTags(about.tags).filter(({ name }) => used.has(name)),
    paths,
    'x-error-codes': about.errorCodes,
    components: {
      responses: problemResponses(components, about),
      schemas: sorted(components.schemas),
      headers: {
        RequestId: {
          description: 'Names this request in the log; your own if you sent a usable X-Request-Id.',
          required: true,
          schema: { type: 'string', pattern: '^[A-Za-z0-9._-]{1,64}$' },
        },
        RetryAfter: {
          description: 'Seconds to wait before trying again.',
          required: true,
          schema: { type: 'integer', minimum: 0 },
        },
        WwwAuthenticate: {
          description: 'Always ApiKey.',
          required: true,
          schema: { type: 'string', const: 'ApiKey' },
        },
      },
      securitySchemes: {
        ApiKeyAuth: {
          type: 'apiKey',
          in: 'header',
          name: 'X-API-Key',
          description: 'Issued once, when a user is created or its key is rotated.',
        },
      },
    },
  }
}

function toOperation(
  route: RouteConfig,
  components: SchemaComponents,
  security: Operation['security'],
  tags: Tags,
): Operation {
  const { method, path, request = {} } = route
  const responses = Object.entries(route.responses).map(
    ([status, response]) => [status, toResponse(status, response, components)] as const,
  )
  const [status, success] = responses.find(([code]) => code.startsWith('2')) ?? responses[0] ?? ['200']
  const answer = success && 'content' in success ? success.content?.['application/json']?.schema : undefined
  const shape = answer?.$ref === undefined ? answer : components.schemas[answer.$ref.split('/').at(-1) ?? '']
  const { body } = request
  return {
    operationId: route.operationId ?? operationIdOf({ method, path, status: Number(status), answer: shape }),
    summary: route.summary ?? firstSentence(success && 'description' in success ? success.description : path),
    ...(route.description === undefined ? {} : { description: route.description }),
    ...(route.deprecated === undefined ? {} : { deprecated: route.deprecated }),
    tags: route.tags ?? [tagOf(tags, path)],
    security,
    parameters: [
      ...toParameters('path', request.params, components),
      ...toParameters('query', request.query, components),
      ...[request.headers ?? []].flat().flatMap((headers) => toParameters('header', headers, components)),
    ],
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: body.required ?? false,
            ...(body.description === undefined ? {} : { description: body.description }),
            content: toContent(body.content, components, 'input'),
          },
        }),
    responses: {
      ...Object.fromEntries(responses),
      default: { $ref: '#/components/responses/Unexpected' },
    },
  }
}

function toParameters(
  place: Parameter['in'],
  schema: z.ZodType | undefined,
  components: SchemaComponents,
): Parameter[] {
  if (schema === undefined) return []
  const { properties = {}, patternProperties, required = [] } = components.convert(schema, 'input')
  const named = Object.entries(properties).map(([name, { description, ...property }]) => ({
    name,
    in: place,
    required: required.includes(name),
    ...(description === undefined ? {} : { description }),
    schema: property,
  }))
  return [...named, ...openParameters(place, patternProperties)]
}

/** Parameters whose names the caller chooses: each property of such an object is a parameter of its own. */
function openParameters(place: Parameter['in'], patterns: Record<string, JsonSchema> = {}): Parameter[] {
  return Object.entries(patterns).map(([pattern, { title, description, ...schema }]) => ({
    name: typeof title === 'string' ? title : pattern,
    in: place,
    required: false,
    ...(description === undefined ? {} : { description }),
    style: 'form' as const,
    explode: true,
    schema: { type: 'object', patternProperties: { [pattern]: schema }, additionalProperties: false },
  }))
}

type RouteResponse = RouteConfig['responses'][string]

function toResponse(
  status: string,
  response: RouteResponse,
  components: SchemaComponents,
): ApiResponse | Reference {
  if ('$ref' in response) return { $ref: String(response.$ref) }
  const { description = '', content, headers } = response
  const isProblem = content?.[PROBLEM_TYPE] !== undefined
  if (isProblem && Reflect.get(PROBLEMS, status) === description) {
    return { $ref: `#/components/responses/Problem${status}` }
  }
  return {
    description,
    headers: {
      ...(isProblem ? problemHeaders(status) : REQUEST_ID_HEADER),
      ...(status === '201'
        ? {
            Location: {
              description: 'The path of what was made.',
              required: true,
              schema: { type: 'string' },
            },
          }
        : {}),
      ...toHeaders(headers, components),
    },
    ...(content === undefined ? {} : { content: toContent(content, components, 'output') }),
  }
}

function problemHeaders(status: string): Record<string, Reference> {
  return {
    ...REQUEST_ID_HEADER,
    ...(status === '401' ? AUTHENTICATE_HEADER : {}),
    ...(status === '429' || status === '503' ? RETRY_AFTER_HEADER : {}),
  }
}

function problemResponses(
  components: SchemaComponents,
  { server }: DocumentAbout,
): Record<string, ApiResponse> {
  const content = { [PROBLEM_TYPE]: { schema: components.convert(problemSchema, 'output') } }
  const named = Object.entries(PROBLEMS).map(([status, description]) => [
    `Problem${status}`,
    { description, headers: problemHeaders(status), content },
  ])
  return {
    ...Object.fromEntries(named),
    Unexpected: {
      description: `Anything else is a fault of ${server.toLowerCase()}: 500 internal_error, to be found in its log.`,
      headers: REQUEST_ID_HEADER,
      content,
    },
  }
}

function toHeaders(headers: unknown, components: SchemaComponents): Record<string, Header> {
  if (!(headers instanceof z.ZodType)) return {}
  const { properties = {}, required = [] } = components.convert(headers, 'output')
  return Object.fromEntries(
    Object.entries(properties).map(([name, { description = '', ...schema }]) => [
      name,
      { description, required: required.includes(name), schema },
    ]),
  )
}

type RouteContent = NonNullable<Exclude<RouteResponse, { $ref: string }>['content']>

function toContent(
  content: RouteContent,
  components: SchemaComponents,
  io: 'input' | 'output',
): Record<string, { schema?: JsonSchema }> {
  return Object.fromEntries(
    Object.entries(content).map(([mediaType, media]) => {
      const schema = media !== undefined && 'schema' in media ? media.schema : undefined
      return [mediaType, schema instanceof z.ZodType ? { schema: components.convert(schema, io) } : {}]
    }),
  )
}

function securityOf<Env extends RequestEnv>(
  routes: OpenAPIHono<Env>['routes'],
  { method, path }: RouteConfig,
  { withKey, roles }: Doors<Env>,
): Operation['security'] {
  const pattern = path.replaceAll(/\{(.+?)\}/g, ':$1')
  const door = routes.findIndex(({ handler }) => handler === withKey)
  const isHere = (route: (typeof routes)[number]) =>
    route.method === method.toUpperCase() && route.path === pattern
  if (door === -1 || routes.findIndex(isHere) < door) return []
  const isFor = (door: Handler<Env>) => routes.some((route) => isHere(route) && route.handler === door)
  const needed = Object.entries(roles).filter(([, door]) => isFor(door))
  return [{ ApiKeyAuth: needed.map(([role]) => role) }]
}

function firstSentence(text: string): string {
  return text.replace(/([.;:]).*$/s, '').trim()
}

function sorted<Value>(record: Record<string, Value>): Record<string, Value> {
  return Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)))
}
