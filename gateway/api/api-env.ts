import { getConnInfo } from '@hono/node-server/conninfo'
import { type Hook, OpenAPIHono } from '@hono/zod-openapi'
import type { Context } from 'hono'
import type { z } from 'zod'
import { type FieldError, ForbiddenError, InvalidRequestError } from '../../shared/errors.ts'
import { fieldErrors } from '../../shared/wire/field-errors.ts'
import { isAdmin } from '../domain/access.ts'
import type { User } from '../services/users.ts'

/** What a handler finds on `c.var`. */
export interface ApiEnv {
  Variables: { requestId: string; user: User }
}

/** A part of the API: routes with schemas; what does not fit them is answered with 400. */
export function createApi(): OpenAPIHono<ApiEnv> {
  return new OpenAPIHono<ApiEnv>({ strict: false, defaultHook: hook })
}

/** A long list of the wrong kind is one mistake, not an answer larger than the request. */
const ERRORS_MAX = 100

const hook: Hook<unknown, ApiEnv, string, unknown> = (result) => {
  if (result.success) return
  // there at run time, though not in the type
  throw refuseInvalid({ ...result, data: 'data' in result ? result.data : undefined })
}

/** The refusal of what does not fit a schema, with each place. */
export function refuseInvalid({
  target,
  error,
  data,
}: {
  target: string
  error: z.ZodError
  data: unknown
}): InvalidRequestError {
  const where = PLACES[target] ?? 'header'
  const errors = error.issues.flatMap((issue) => fieldErrors(where, issue, data)).slice(0, ERRORS_MAX)
  const [first] = errors
  const message = errors.map(({ name, detail }) => `${name}: ${detail}`).join('; ')
  return new InvalidRequestError(first?.code ?? 'invalid_request', message, errors)
}

/** Where a part of a request is, by Hono's name for it. */
const PLACES: Record<string, FieldError['in']> = { json: 'body', param: 'path', query: 'query' }

/** Throws `admin_required`; comes before the resource is looked up. */
export function requireAdmin(user: User): void {
  if (!isAdmin(user.caller)) throw new ForbiddenError('admin_required', 'this needs the key of an admin')
}

/** The network address of the caller; requests made in a test have none. */
export function addressOf(c: Context): string {
  return c.env !== undefined && 'incoming' in c.env ? (getConnInfo(c).remote.address ?? 'unknown') : 'unknown'
}

/** Gives an answer that is still to be made a header. */
export function setHeader(c: Context, name: string, value: string): void {
  // Node's own answer takes it as it is; Hono would make a `Headers` of all of them, which costs more than most handlers
  if (c.env !== undefined && 'outgoing' in c.env) c.env.outgoing.setHeader(name, value)
  else c.header(name, value)
}
