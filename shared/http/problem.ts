import { STATUS_CODES } from 'node:http'
import type { Context, ErrorHandler } from 'hono'
import { HTTPException } from 'hono/http-exception'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { AppError, describeError, type ErrorKind } from '#shared/errors.ts'
import type { Log } from '#shared/log.ts'
import type { Problem } from '#shared/wire/schema/problem.ts'
import { outgoingOf, type RequestEnv } from './api-env.ts'

const STATUS_OF_KIND: Record<ErrorKind, ContentfulStatusCode> = {
  invalid: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  precondition_failed: 412,
  precondition_required: 428,
  request_timeout: 408,
  payload_too_large: 413,
  unsupported_media_type: 415,
  expectation_failed: 417,
  rate_limited: 429,
  headers_too_large: 431,
  unavailable: 503,
}

/** Builds the body and headers of an error response. */
export function problemOf(
  error: AppError,
  requestId: string,
): { status: ContentfulStatusCode; body: Problem; headers: Record<string, string> } {
  const status = STATUS_OF_KIND[error.kind]
  const headers: Record<string, string> = { 'content-type': 'application/problem+json' }
  if (error.retryAfterS !== undefined) headers['retry-after'] = String(error.retryAfterS)
  if (status === 401) headers['www-authenticate'] = 'ApiKey'
  return { status, headers, body: problemBody(status, error, requestId) }
}

function problemBody(status: number, error: Pick<AppError, 'code' | 'message' | 'errors'>, requestId: string): Problem {
  const { code, message, errors } = error
  return {
    type: 'about:blank',
    title: STATUS_CODES[status] ?? 'Error',
    status,
    detail: message,
    code,
    error: message,
    request_id: requestId,
    ...(errors === undefined ? {} : { errors }),
  }
}

/** Converts errors to responses; the only place that does. */
export function createErrorHandler<Env extends RequestEnv>(log: Log): ErrorHandler<Env> {
  return (error, c) => {
    const requestId = c.var.requestId
    if (error instanceof AppError) {
      // a disconnected client gets no response, which is not a fault
      if (error.kind === 'unavailable' && !c.req.raw.signal.aborted)
        log.warn({ requestId, reason: describeError(error.cause) }, 'unavailable')
      return respond(c, problemOf(error, requestId))
    }
    // the library knows fewer content types than the guard of bodies
    if (error instanceof HTTPException && error.status === 415) {
      const refusal = new AppError(
        'unsupported_media_type',
        'unsupported_media_type',
        'send the body as application/json',
      )
      return respond(c, problemOf(refusal, requestId))
    }
    if (error instanceof HTTPException && error.status < 500) {
      return respond(c, problemOf(new AppError('invalid', 'invalid_request', error.message), requestId))
    }
    const reason = error.stack ?? String(error)
    // a client that disconnects while sending its body is not a fault, and callers without a key must not fill the log
    if (hasLeft(c)) log.debug({ requestId, reason }, 'client of an HTTP request disconnected')
    else log.error({ requestId, reason }, 'HTTP request failed')
    const body = problemBody(
      500,
      { code: 'internal_error', message: 'internal error; the log of the server has the reason', errors: undefined },
      requestId,
    )
    return respond(c, { status: 500, headers: { 'content-type': 'application/problem+json' }, body })
  }
}

function hasLeft(c: Context): boolean {
  return c.req.raw.signal.aborted || outgoingOf(c)?.destroyed === true || outgoingOf(c)?.req.errored != null
}

function respond(
  c: Pick<Context, 'body'>,
  problem: { status: ContentfulStatusCode; body: Problem; headers: Record<string, string> },
): Response {
  return c.body(JSON.stringify(problem.body), problem.status, problem.headers)
}
