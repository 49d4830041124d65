import type { OpenAPIHono, RouteConfig } from '@hono/zod-openapi'
import type { Handler } from 'hono'
import { z } from 'zod'
import { readVersion } from '#shared/version.ts'
import { problemSchema } from '#shared/wire/schema/problem.ts'
import type { RequestEnv } from './api-env.ts'
import { resolveSchema } from './openapi-sample.ts'
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
  description?: string | undefined
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
  content?: Content
}

type Content = Record<string, { schema: JsonSchema }>

export interface Operation {
  operationId: string
  summary: string
  description: string | undefined
  deprecated: boolean | undefined
  tags: string[]
  /** Empty if no key is needed; the required role is given in the notation of OpenAPI 3.1. */
  security: { ApiKeyAuth?: string[]; SessionCookie?: string[] }[]
  parameters: Parameter[]
  requestBody: { required: boolean; content: Content } | undefined
  responses: Record<string, ApiResponse | Reference>
}

export interface OpenApiDocument {
  openapi: '3.1.0'
  info: {
    title: string
    version: string
    description: string
    license: { name: string; identifier: string }
  }
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

/** Handlers that control access. The document is derived from the ones that run, so it cannot contradict them. */
export interface AccessRules<Env extends RequestEnv> {
  /** Handler after which every route needs a key. */
  withKey: Handler<Env>
  /** Cookie that replaces a key, if there is one. */
  cookie?: string
  /** True if a key may be limited to one operation; every other operation then responds with 403. */
  hasNarrowKeys?: boolean
  /** Handlers by the role that they require. */
  roles: Readonly<Record<string, Handler<Env>>>
}

/** Meaning of each error `code`. */
export type ErrorCodes = Readonly<Record<string, { status: number; otherStatus?: number; meaning: string }>>

/** Parts of a document that do not come from the routes. */
export interface DocumentAbout {
  title: string
  /** CommonMark. */
  description: string
  /** Program at this address, with an article. */
  server: string
  tags: Tags
  errorCodes: ErrorCodes
}

const REQUEST_ID_HEADER = { 'X-Request-Id': { $ref: '#/components/headers/RequestId' } }

/** Headers in addition to the request id, by response status. */
const HEADERS_OF_STATUS: Record<string, Record<string, Header | Reference>> = {
  201: {
    Location: { description: 'Path of the created object.', required: true, schema: { type: 'string' } },
  },
  401: { 'WWW-Authenticate': { $ref: '#/components/headers/WwwAuthenticate' } },
  429: { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } },
  503: { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } },
}

/**
 * Builds the OpenAPI 3.1 document of an app from all routes mounted with `openapi(route.get(…))`. Uses the converter of
 * Zod; the one of `@hono/zod-openapi` loses defaults, tuple lengths and record keys.
 */
export function createOpenApiDocument<Env extends RequestEnv>(
  app: OpenAPIHono<Env>,
  doors: AccessRules<Env>,
  about: DocumentAbout,
): OpenApiDocument {
  const components = new SchemaComponents()
  const paths: OpenApiDocument['paths'] = {}
  for (const definition of app.openAPIRegistry.definitions) {
    if (definition.type !== 'route') continue
    const { route } = definition
    const security = securityOf(app.routes, route, doors)
    const operation = toOperation(route, components, security, about.tags)
    if (doors.hasNarrowKeys === true && security.length > 0)
      operation.responses[403] ??= { $ref: '#/components/responses/Problem403' }
    paths[route.path] = { ...paths[route.path], [route.method]: operation }
  }
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods))
  const used = new Set(operations.flatMap(({ tags }) => tags))
  return {
    openapi: '3.1.0',
    info: {
      title: about.title,
      version: readVersion().replace('cartbarn ', ''),
      description: about.description,
      license: { name: 'MIT License', identifier: 'MIT' },
    },
    servers: [{ url: '/', description: `${about.server} that serves this document.` }],
    tags: allTags(about.tags).filter(({ name }) => used.has(name)),
    paths,
    'x-error-codes': about.errorCodes,
    components: {
      responses: problemResponses(components, about),
      schemas: Object.fromEntries(Object.entries(components.schemas).sort(([a], [b]) => (a < b ? -1 : 1))),
      headers: {
        RequestId: {
          description: "Id of this request in the log; the value of the request's own X-Request-Id if it is valid.",
          required: true,
          schema: { type: 'string', pattern: '^[A-Za-z0-9._-]{1,64}$' },
        },
        RetryAfter: {
          description: 'Seconds to wait before a retry.',
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
          description: 'API key, issued once when a user is created or its key is rotated.',
        },
        ...(doors.cookie === undefined
          ? {}
          : {
              SessionCookie: {
                type: 'apiKey',
                in: 'cookie',
                name: doors.cookie,
                description:
                  'Session cookie, set by POST /sessions. Requests that may change data also need the Origin of the ' +
                  'gateway.',
              },
            }),
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
  const { method, path, summary = path, description, deprecated, request = {} } = route
  const { body, params, query, headers = [] } = request
  const responses = Object.entries(route.responses).map(
    ([status, response]) => [status, toResponse(status, response, components)] as const,
  )
  const [status, success] = responses.find(([code]) => code.startsWith('2')) ?? ['200', {}]
  const answer = 'content' in success ? success.content?.['application/json']?.schema : undefined
  const shape = answer && resolveSchema(answer, components.schemas)
  return {
    operationId: route.operationId ?? operationIdOf({ method, path, status: Number(status), answer: shape }),
    summary,
    description,
    deprecated,
    tags: [tagOf(tags, path) ?? 'System'],
    security,
    parameters: [
      ...toParameters('path', params, components),
      ...toParameters('query', query, components),
      ...[headers].flat().flatMap((one) => toParameters('header', one, components)),
    ],
    requestBody: body && {
      required: body.required ?? false,
      content: toContent(body.content, components, 'input'),
    },
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
  const { properties = {}, patternProperties = {}, required = [] } = components.convert(schema, 'input')
  const named = Object.entries(properties).map(([name, { description, ...property }]) => {
    return { name, in: place, required: required.includes(name), description, schema: property }
  })
  // parameters with names chosen by the caller: each property of such an object becomes a parameter
  const open = Object.entries(patternProperties).map(([pattern, { title, description, ...property }]) => ({
    name: String(title),
    in: place,
    required: false,
    description,
    style: 'form' as const,
    explode: true,
    schema: { type: 'object', patternProperties: { [pattern]: property }, additionalProperties: false },
  }))
  return [...named, ...open]
}

type RouteResponse = RouteConfig['responses'][string]

function toResponse(status: string, response: RouteResponse, components: SchemaComponents): ApiResponse | Reference {
  if ('$ref' in response) return { $ref: String(response.$ref) }
  const { description = '', content, headers } = response
  const isProblem = content?.[PROBLEM_TYPE] !== undefined
  if (isProblem && Reflect.get(PROBLEMS, status) === description) {
    return { $ref: `#/components/responses/Problem${status}` }
  }
  // a 503 that is not a problem, such as that of /health, has no Retry-After
  const ofStatus = isProblem || status === '201' ? HEADERS_OF_STATUS[status] : {}
  return {
    description,
    headers: { ...REQUEST_ID_HEADER, ...ofStatus, ...toHeaders(headers, components) },
    ...(content === undefined ? {} : { content: toContent(content, components, 'output') }),
  }
}

function problemResponses(components: SchemaComponents, { server }: DocumentAbout): Record<string, ApiResponse> {
  const content = { [PROBLEM_TYPE]: { schema: components.convert(problemSchema, 'output') } }
  const named = Object.entries(PROBLEMS).map(([status, description]) => [
    `Problem${status}`,
    { description, headers: { ...REQUEST_ID_HEADER, ...HEADERS_OF_STATUS[status] }, content },
  ])
  return {
    ...Object.fromEntries(named),
    Unexpected: {
      description: `Any other error is a fault of ${server.toLowerCase()}: 500 internal_error, explained in its log.`,
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

function toContent(content: RouteContent, components: SchemaComponents, io: 'input' | 'output'): Content {
  return Object.fromEntries(
    Object.entries(content).flatMap(([mediaType, media]) => {
      const schema = media !== undefined && 'schema' in media ? media.schema : undefined
      return schema instanceof z.ZodType ? [[mediaType, { schema: components.convert(schema, io) }]] : []
    }),
  )
}

function securityOf<Env extends RequestEnv>(
  routes: OpenAPIHono<Env>['routes'],
  { method, path }: RouteConfig,
  { withKey, roles, cookie }: AccessRules<Env>,
): Operation['security'] {
  const pattern = path.replaceAll(/\{(.+?)\}/g, ':$1')
  const door = routes.findIndex(({ handler }) => handler === withKey)
  const isHere = (route: (typeof routes)[number]) => route.method === method.toUpperCase() && route.path === pattern
  if (door === -1 || routes.findIndex(isHere) < door) return []
  const isFor = (door: Handler<Env>) => routes.some((route) => isHere(route) && route.handler === door)
  const needed = Object.entries(roles).filter(([, door]) => isFor(door))
  const names = needed.map(([role]) => role)
  return [{ ApiKeyAuth: names }, ...(cookie === undefined ? [] : [{ SessionCookie: names }])]
}
