import type { ServerResponse } from 'node:http'
import { type Hook, OpenAPIHono } from '@hono/zod-openapi'
import type { Context } from 'hono'
import type { z } from 'zod'
import { type FieldError, InvalidRequestError } from '#shared/errors.ts'
import { fieldErrors } from '#shared/wire/schema/field-errors.ts'
import type { ListOrder } from '#shared/wire/schema/params.ts'

/** Variables of `c.var` that every API sets for its handlers. */
export interface RequestEnv {
  Variables: {
    requestId: string
    /** The response is generated while it is sent. */
    isStreamed?: boolean
    /** The response is kept in memory in the form in which it is sent. */
    isKept?: boolean
    /** File name of the response without an extension; by default derived from its path. */
    file?: string
    /** Network address of the caller. */
    address: string
    /** Origin of this program as the caller's browser sees it; undefined if the request does not reveal it. */
    ownOrigin: () => string | undefined
    /** Throws if the caller has lost access since it was checked; called again after a body has been received. */
    requireStillIn?: () => void
  }
}

/** Creates a group of routes with schemas; requests that do not match get a 400 response. */
export function createApiOf<Env extends RequestEnv>(): OpenAPIHono<Env> {
  return new OpenAPIHono<Env>({ strict: false, defaultHook: refuse })
}

/** Limit on reported errors: a long list of the wrong type must not cause a response larger than the request. */
const ERRORS_MAX = 100

function refuse(result: Parameters<Hook<unknown, RequestEnv, string, unknown>>[0]): void {
  if (result.success) return
  // exists at run time, though not in the type
  throw throwValidationError({ ...result, data: 'data' in result ? result.data : undefined })
}

/** Builds the error for a request that does not match its schema, with each invalid field. */
export function throwValidationError({
  target,
  error,
  data,
}: {
  target: string
  error: z.ZodError
  data: unknown
}): InvalidRequestError {
  const where = PLACES[target] ?? 'header'
  // each issue yields at least one error, and a list of invalid items has very many
  const issues = error.issues.slice(0, ERRORS_MAX)
  const errors = issues.flatMap((issue) => fieldErrors(where, issue, data)).slice(0, ERRORS_MAX)
  const [first] = errors
  const message = errors.map(({ name, detail }) => `${name}: ${detail}`).join('; ')
  return new InvalidRequestError(first?.code ?? 'invalid_request', message, errors)
}

/** Part of the request by Hono's name for it. */
const PLACES: Record<string, FieldError['in']> = { json: 'body', param: 'path', query: 'query' }

export function invalidQuery(error: Omit<FieldError, 'in'>): InvalidRequestError {
  return new InvalidRequestError(error.code, `${error.name}: ${error.detail}`, [{ in: 'query', ...error }])
}

/** Throws `invalid_range` if the range ends before it begins. */
export function requireOrder(fromMs: number | undefined, toMs: number | undefined): void {
  if (fromMs !== undefined && toMs !== undefined && fromMs > toMs)
    throw invalidQuery({ name: 'from', code: 'invalid_range', detail: 'from must not be after to' })
}

/** Returns Node's own response; undefined for a request without a socket. */
export function outgoingOf(c: Context): ServerResponse | undefined {
  return c.env !== undefined && 'outgoing' in c.env ? c.env.outgoing : undefined
}

/** Sets a header of the response before the response exists. */
export function setHeader(c: Context, name: string, value: string): void {
  // written to Node's response: Hono would copy all headers to a `Headers`, which costs more than most handlers
  const outgoing = outgoingOf(c)
  if (outgoing === undefined) c.header(name, value)
  else outgoing.setHeader(name, value)
}

/** Returns the rows of a list. Throws if the item to continue after does not exist. */
export function requirePage<Row>(rows: Row[] | null): Row[] {
  if (rows !== null) return rows
  throw invalidQuery({
    name: 'before',
    code: 'invalid_parameter',
    detail: 'no item of this list has this id',
  })
}

/** Returns ascending items in the requested order. */
export function inOrder<Item>(items: readonly Item[], order: ListOrder): readonly Item[] {
  return order === 'asc' ? items : items.toReversed()
}

export function paginationOf({ limit, offset }: { limit: number; offset: number }, rows: readonly unknown[]) {
  return { limit, offset, returned: rows.length }
}
