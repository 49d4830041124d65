import type { ServerResponse } from 'node:http'
import { type Hook, OpenAPIHono } from '@hono/zod-openapi'
import type { Context } from 'hono'
import type { z } from 'zod'
import { type FieldError, InvalidRequestError } from '#shared/errors.ts'
import { fieldErrors } from '#shared/wire/schema/field-errors.ts'
import type { ListOrder } from '#shared/wire/schema/params.ts'

/** What a handler of any API finds on `c.var`. */
export interface RequestEnv {
  Variables: {
    requestId: string
    /** The answer is written while it is sent. */
    isStreamed?: boolean
    /** The answer is kept in memory in the form in which it is sent. */
    isKept?: boolean
    /** What the answer is called as a file, without an ending; else it is named after its path. */
    file?: string
    /** The network address of the caller. */
    address: string
    /** The origin of this program as the caller's browser sees it; undefined when the request does not say. */
    ownOrigin: () => string | undefined
    /** Throws when whoever was let in is not any more; asked again once a body is there. */
    requireStillIn?: () => void
  }
}

/** A part of an API: routes with schemas; what does not fit them is answered with 400. */
export function createApiOf<Env extends RequestEnv>(): OpenAPIHono<Env> {
  return new OpenAPIHono<Env>({ strict: false, defaultHook: refuse })
}

/** A long list of the wrong kind is one mistake, not an answer larger than the request. */
const ERRORS_MAX = 100

function refuse(result: Parameters<Hook<unknown, RequestEnv, string, unknown>>[0]): void {
  if (result.success) return
  // there at run time, though not in the type
  throw throwValidationError({ ...result, data: 'data' in result ? result.data : undefined })
}

/** The refusal of what does not fit a schema, with each place. */
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
  // each issue is at least one error, and a list of wrong items has very many
  const issues = error.issues.slice(0, ERRORS_MAX)
  const errors = issues.flatMap((issue) => fieldErrors(where, issue, data)).slice(0, ERRORS_MAX)
  const [first] = errors
  const message = errors.map(({ name, detail }) => `${name}: ${detail}`).join('; ')
  return new InvalidRequestError(first?.code ?? 'invalid_request', message, errors)
}

/** Where a part of a request is, by Hono's name for it. */
const PLACES: Record<string, FieldError['in']> = { json: 'body', param: 'path', query: 'query' }

/** The refusal of one parameter of the query. */
export function invalidQuery(error: Omit<FieldError, 'in'>): InvalidRequestError {
  return new InvalidRequestError(error.code, `${error.name}: ${error.detail}`, [{ in: 'query', ...error }])
}

/** Throws `invalid_range` for a range that ends before it begins. */
export function requireOrder(fromMs: number | undefined, toMs: number | undefined): void {
  if (fromMs !== undefined && toMs !== undefined && fromMs > toMs)
    throw invalidQuery({ name: 'from', code: 'invalid_range', detail: 'from must not be after to' })
}

/** Node's own answer; undefined for a request without a socket. */
export function outgoingOf(c: Context): ServerResponse | undefined {
  return c.env !== undefined && 'outgoing' in c.env ? c.env.outgoing : undefined
}

/** Gives an answer that is still to be made a header. */
export function setHeader(c: Context, name: string, value: string): void {
  // Node's own answer takes it as it is; Hono would make a `Headers` of all of them, which costs more than most
  // handlers
  const outgoing = outgoingOf(c)
  if (outgoing === undefined) c.header(name, value)
  else outgoing.setHeader(name, value)
}

/** The rows of a list. Throws when what it was to go on behind is not there. */
export function requirePage<Row>(rows: Row[] | null): Row[] {
  if (rows !== null) return rows
  throw invalidQuery({
    name: 'before',
    code: 'invalid_parameter',
    detail: 'no item of this list has this id',
  })
}

/** A list whose items are ascending, in the order asked for. */
export function inOrder<Item>(items: readonly Item[], order: ListOrder): readonly Item[] {
  return order === 'asc' ? items : items.toReversed()
}

/** What an answer says of the page it has. */
export function paginationOf({ limit, offset }: { limit: number; offset: number }, rows: readonly unknown[]) {
  return { limit, offset, returned: rows.length }
}
