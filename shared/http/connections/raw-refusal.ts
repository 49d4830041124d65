import { type ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { AppError, InvalidRequestError } from '#shared/errors.ts'
import { newUuid } from '#shared/ids.ts'
import { problemOf } from '../problem.ts'
import { SAFETY_HEADERS } from '../request-guards.ts'

/** Time limit for sending an error response. */
const GOODBYE_MS = 5_000

/** Returns the error for a request that Node could not parse, by Node's error code. */
export function unreadable(code: string | undefined): AppError {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new AppError('headers_too_large', 'headers_too_large', 'the head of a request may have at most 16 KB')
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new AppError('request_timeout', 'request_timeout', 'the request took too long to arrive')
    default:
      return new InvalidRequestError('invalid_request', 'the request is not valid HTTP')
  }
}

/** Rejects a request that does not reach an app, and closes its connection. */
export function refuseRequest(response: ServerResponse, error: AppError): void {
  const { status, headers, text } = refusalOf(error)
  response.writeHead(status, headers).end(text)
}

/** Does the same for a connection without an HTTP response of Node; further input is discarded. */
export function refuseConnection(socket: Duplex, error: AppError): void {
  const { status, headers, text } = refusalOf(error)
  const lines = Object.entries({ ...SAFETY_HEADERS, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  // Node's timeouts no longer apply, and a client could hold the connection half open
  setTimeout(() => socket.destroy(), GOODBYE_MS).unref()
  socket.resume()
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${text}`, () => socket.destroy())
}

function refusalOf(error: AppError): { status: number; headers: Record<string, string>; text: string } {
  const requestId = newUuid()
  const { status, body, headers } = problemOf(error, requestId)
  const text = JSON.stringify(body)
  return {
    status,
    text,
    headers: {
      ...headers,
      'cache-control': 'no-store',
      'x-request-id': requestId,
      'content-length': String(Buffer.byteLength(text)),
      connection: 'close',
    },
  }
}
