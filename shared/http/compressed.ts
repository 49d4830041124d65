import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { MiddlewareHandler } from 'hono'
import { type RequestEnv, setHeader } from './api-env.ts'

const compress = promisify(gzip)
/** Content types worth compressing; all others are compressed already. */
const TEXT = /^(text\/|application\/([a-z0-9.+-]+\+)?(json|xml|javascript)\b|image\/svg)/i
/** Minimum size; smaller responses hardly save a packet. */
const MIN_BYTES = 1024
/**
 * Fastest level: it reduces JSON to a fifth or less, and a higher one takes twice the time for another twentieth. It
 * runs in Node's thread pool: 400 KB take half a millisecond of the event loop, with CompressionStream five times that.
 */
const LEVEL = 1

/**
 * Compresses texts for clients that accept it. Streamed responses are excluded: histories and files are sent as fast as
 * the client reads, and must leave the processor to the devices. Photos and partial responses are excluded as well.
 */
export const compressed: MiddlewareHandler<RequestEnv> = async (c, next) => {
  await next()
  if (!takesGzip(c.req.header('accept-encoding')) || c.req.method === 'HEAD') return
  if (c.var.isStreamed || c.var.isKept || c.res.body === null) return
  if (c.res.status === 206 || !TEXT.test(c.res.headers.get('content-type') ?? '')) return
  const { status } = c.res
  const headers = new Headers(c.res.headers)
  const plain = await c.res.arrayBuffer()
  // a response whose body was read cannot be sent: a new one takes its headers
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

/** Sets `Vary`, because responses depend on the encodings that the client accepts. */
export const varyByAccepted: MiddlewareHandler<RequestEnv> = (c, next) => {
  setHeader(c, 'vary', VARY)
  return next()
}

/** Appends to a `Vary` header that another middleware has set. */
export const varyByAcceptedToo: MiddlewareHandler<RequestEnv> = (c, next) => {
  c.header('vary', VARY, { append: true })
  return next()
}

// Source: RFC 9110 12.5.3; `*` may include gzip, but no client sends it.
function takesGzip(accepted = ''): boolean {
  return /(^|,)\s*(x-)?gzip\s*(;\s*q=(?!0(\.0*)?\s*(,|$))[^,]*)?\s*(,|$)/i.test(accepted)
}

/** Makes the entity tag weak: it is the same for both encodings, so it identifies the content, not the bytes. */
function weaken(headers: Headers): void {
  const tag = headers.get('etag')
  if (tag !== null && !tag.startsWith('W/')) headers.set('etag', `W/${tag}`)
}
