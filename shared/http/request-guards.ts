import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Context, MiddlewareHandler } from 'hono'
import { AppError } from '#shared/errors.ts'
import { newUuid } from '#shared/ids.ts'
import { type BodyForm, readJsonObject } from '#shared/json-body.ts'
import { type RequestEnv, setHeader } from './api-env.ts'

const REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/

/** Sets `X-Request-Id` on every response: the caller's own value if it is valid. */
export const withRequestId: MiddlewareHandler<RequestEnv> = (c, next) => {
  const given = c.req.header('x-request-id')
  const requestId = given !== undefined && REQUEST_ID.test(given) ? given : newUuid()
  c.set('requestId', requestId)
  // set before the response exists: to change the headers of a finished one, Hono copies it, with a stream for its body
  setHeader(c, 'x-request-id', requestId)
  return next()
}

/** Sent with every response: browsers must not guess content types, nor send the address of a page to other sites. */
export const SAFETY_HEADERS = { 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' }

/** Forbids caching unless the route allows it: to caches, `X-API-Key` is not an `Authorization` header. */
export const noStore: MiddlewareHandler<RequestEnv> = (c, next) => {
  setHeader(c, 'cache-control', 'no-store')
  for (const [name, value] of Object.entries(SAFETY_HEADERS)) setHeader(c, name, value)
  return next()
}

/** Brackets at the end of a parameter name. */
const LIST_NAME = /([?&][^=&#]+?)(?:\[\d*\]|%5B\d*%5D)(?=[=&#]|$)/gi

/** Reads `hardware_ids[]=a` and `hardware_ids[0]=a`, the list notations of some clients, as a repeated parameter. */
export const withPlainNames: MiddlewareHandler<RequestEnv> = (c, next) => {
  const { url } = c.req
  // every reader of the query uses this URL
  if (/\[\d*\]|%5B\d*%5D/i.test(url)) Object.defineProperty(c.req, 'url', { value: url.replace(LIST_NAME, '$1') })
  return next()
}

const MAX_BODY_BYTES = 65_536

/** Accepts only a JSON object of at most `maxBytes`; must come before the schema of a route. */
export function jsonBodyUpTo(maxBytes: number, form: BodyForm = {}): MiddlewareHandler<RequestEnv> {
  return async (c, next) => {
    const bytes = await readJsonBytes(c, maxBytes)
    const value = readJsonObject(bytes, form)
    // input of the route's schema; Hono would parse the body again, and serialise a cached value before that
    Object.assign(c.req, { json: () => Promise.resolve(value) })
    // parsing and validating a large body both take long, so they get a tick each
    if (bytes.length > MAX_BODY_BYTES) await nextTurn()
    c.var.requireStillIn?.()
    await next()
  }
}

/**
 * Accepts a body declared as JSON of at most `maxBytes` without parsing it: a reader thread parses it, and the handler
 * reads it with `arrayBuffer`. The schema of the route is only documentation.
 */
export function unreadJsonUpTo(maxBytes: number): MiddlewareHandler<RequestEnv> {
  return async (c, next) => {
    const { buffer } = await readJsonBytes(c, maxBytes)
    c.var.requireStillIn?.()
    Object.assign(c.req.bodyCache, { arrayBuffer: Promise.resolve(buffer), text: Promise.resolve('{}') })
    await next()
  }
}

export const jsonBody = jsonBodyUpTo(MAX_BODY_BYTES)

export const jsonListBody = jsonBodyUpTo(MAX_BODY_BYTES, { mayBeList: true })

const jsonBodyOrEmpty = jsonBodyUpTo(MAX_BODY_BYTES, { empty: '{}' })

/** Accepts a JSON body that is optional. */
export const jsonBodyOrNone: MiddlewareHandler<RequestEnv> = (c, next) => {
  const hasBody = Number(c.req.header('content-length') ?? 0) > 0 || c.req.header('transfer-encoding')
  return c.req.header('content-type') === undefined && !hasBody ? next() : jsonBodyOrEmpty(c, next)
}

/** Accepts only a body with one of these types and at most `maxBytes`; the handler reads it with `arrayBuffer`. */
export function bytesBodyUpTo(maxBytes: number, types: readonly string[]): MiddlewareHandler<RequestEnv> {
  return async (c, next) => {
    const [type = ''] = (c.req.header('content-type') ?? '').split(';')
    if (!types.includes(type.trim().toLowerCase())) throw unsupported(`send the body as ${types.join(' or ')}`)
    refuseEncoded(c.req.header('content-encoding'))
    const { buffer } = await readBytes(c.req.raw, maxBytes)
    c.var.requireStillIn?.()
    // Hono would parse a body that is declared as JSON
    Object.assign(c.req.bodyCache, { arrayBuffer: Promise.resolve(buffer), text: Promise.resolve('{}') })
    await next()
  }
}

function refuseEncoded(encoding = 'identity'): void {
  if (encoding.toLowerCase() !== 'identity') throw unsupported('send the body without Content-Encoding')
}

function unsupported(message: string): AppError {
  return new AppError('unsupported_media_type', 'unsupported_media_type', message)
}

async function readJsonBytes(c: Context, maxBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const contentType = c.req.header('content-type') ?? ''
  if (!/^application\/([a-z0-9.-]+\+)?json\s*(;|$)/i.test(contentType))
    throw unsupported('send the body as application/json')
  refuseEncoded(c.req.header('content-encoding'))
  return await readBytes(c.req.raw, maxBytes)
}

/** Reads a body up to the limit, regardless of its declared length. */
async function readBytes(request: Request, maxBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const tooLarge = () =>
    new AppError('payload_too_large', 'payload_too_large', `the body may have at most ${maxBytes} bytes`)
  if (Number(request.headers.get('content-length') ?? 0) > maxBytes) throw tooLarge()
  if (request.body === null) return new Uint8Array()
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of request.body) {
    bytes += chunk.length
    if (bytes > maxBytes) throw tooLarge()
    chunks.push(chunk)
  }
  const body = new Uint8Array(bytes)
  let at = 0
  for (const chunk of chunks) {
    body.set(chunk, at)
    at += chunk.length
  }
  return body
}
