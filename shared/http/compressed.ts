import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { MiddlewareHandler } from 'hono'
import { type RequestEnv, setHeader } from './api-env.ts'

const compress = promisify(gzip)
/** Everything else is compressed already. */
const TEXT = /^(text\/|application\/([a-z0-9.+-]+\+)?(json|xml|javascript)\b|image\/svg)/i
/** Below it a packet on the wire is hardly shorter. */
const MIN_BYTES = 1024
/**
 * The fastest: JSON shrinks to a fifth of it or less, a higher level takes twice the time for another twentieth. It
 * runs in a thread of Node's pool: 400 KB take half a millisecond of the event loop, by CompressionStream five times
 * that.
 */
const LEVEL = 1

/**
 * Compresses texts for clients that accept it. What is written while it is sent is not: histories and files go on as
 * fast as the client takes them, and leave the processor to the devices. Nor are photos, and parts of something.
 */
export const compressed: MiddlewareHandler<RequestEnv> = async (c, next) => {
  await next()
  if (!takesGzip(c.req.header('accept-encoding')) || c.req.method === 'HEAD') return
  if (c.var.isStreamed || c.var.isKept || c.res.body === null) return
  if (c.res.status === 206 || !TEXT.test(c.res.headers.get('content-type') ?? '')) return
  const { status } = c.res
  const headers = new Headers(c.res.headers)
  const plain = await c.res.arrayBuffer()
  // an answer that was read cannot be sent: each gets a new one, with the headers it had
  c.res = undefined
  if (plain.byteLength <= MIN_BYTES) {
    c.res = new Response(plain, { status, headers })
    return
  }
  headers.set('content-encoding', 'gzip')
  headers.delete('content-length')
  weaken(headers)
  c.res = new Response(new Uint8Array(await compress(plain, { level: LEVEL })), { status, headers })
}

const VARY = 'Accept, Accept-Encoding'

/** Tells caches that answers depend on what the client accepts. */
export const varyByAccepted: MiddlewareHandler<RequestEnv> = (c, next) => {
  setHeader(c, 'vary', VARY)
  return next()
}

/** The same behind a middleware that names something else they depend on. */
export const varyByAcceptedToo: MiddlewareHandler<RequestEnv> = (c, next) => {
  c.header('vary', VARY, { append: true })
  return next()
}

// Source: RFC 9110 12.5.3; `*` may mean gzip, but nobody sends it.
function takesGzip(accepted = ''): boolean {
  return /(^|,)\s*(x-)?gzip\s*(;\s*q=(?!0(\.0*)?\s*(,|$))[^,]*)?\s*(,|$)/i.test(accepted)
}

/** An entity tag that is the same for both encodings compares what they say, not their bytes. */
function weaken(headers: Headers): void {
  const tag = headers.get('etag')
  if (tag !== null && !tag.startsWith('W/')) headers.set('etag', `W/${tag}`)
}
