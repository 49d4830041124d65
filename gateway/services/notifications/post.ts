import { type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { LookupFunction } from 'node:net'
import { describeError } from '#shared/errors.ts'
import { UnknownOutcome } from './retries.ts'

export interface PostRequest {
  url: string
  headers: Readonly<Record<string, string>>
  body: string
  /** Aborts the request in any state. */
  signal: AbortSignal
  lookup: LookupFunction
}

/** Bytes read of a response, so that the server sees it end properly; its content is ignored. */
const READ_BYTES = 16_384
const READ_MS = 1_000

/**
 * Posts a text; resolves on a successful response. Rejects with a readable reason, and with an `UnknownOutcome` if no
 * response came after everything was sent. Follows no redirect: the content is for this address only.
 */
export function post({ url, headers, body, signal, lookup }: PostRequest): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const start = url.startsWith('https:') ? requestHttps : requestHttp
  const bytes = Buffer.from(body)
  const request = start(url, {
    method: 'POST',
    signal,
    lookup,
    agent: false,
    headers: { 'user-agent': 'cartbarn', ...headers, 'content-length': bytes.length },
  })
  let isSent = false
  let isAnswered = false
  const fail = (error: unknown) => reject(isSent ? new UnknownOutcome(describeError(error)) : error)
  request.on('finish', () => {
    isSent = true
  })
  // also after a response, when the promise is settled
  request.on('error', fail)
  // Node closes the connection without an error if it cannot parse the response
  request.on('close', () => isAnswered || fail(new Error('the connection was closed without an answer')))
  request.on('upgrade', ({ statusCode = 101 }, socket) => {
    socket.destroy()
    reject(new Error(`answered ${statusCode}`))
  })
  request.on('response', (response) => {
    isAnswered = true
    const fault = faultOf(response.statusCode ?? 0)
    void ended(response).then(() => {
      request.destroy()
      if (fault === null) resolve()
      else reject(new Error(fault))
    })
  })
  request.end(bytes)
  return promise
}

function faultOf(status: number): string | null {
  if (status >= 200 && status < 300) return null
  return status >= 300 && status < 400 ? `answered ${status}; redirects are not followed` : `answered ${status}`
}

/** Resolves at the end of a response, or when enough was read. */
function ended(response: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, READ_MS)
    let bytes = 0
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > READ_BYTES) resolve()
    })
    response.on('error', () => resolve())
    response.on('close', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
