import type { OpenAPIHono } from '@hono/zod-openapi'
import type { Context, MiddlewareHandler } from 'hono'
import { type Caller, isAdmin, isStaff } from '#domain/access.ts'
import type { KeyGuard } from '#services/people/key-guard.ts'
import { type Login, requireStillIn } from '#services/people/login.ts'
import type { Persons } from '#services/people/persons.ts'
import type { Sessions } from '#services/people/sessions.ts'
import { ForbiddenError, UnauthenticatedError } from '#shared/errors.ts'
import { createApiOf, type RequestEnv, setHeader } from '#shared/http/api-env.ts'
import { bearerToken } from '#shared/http/bearer.ts'
import { requireOwnOrigin } from '#shared/http/own-origin.ts'
import { clearedSessionCookie, sessionCookie, sessionTokenIn } from '#shared/http/session-cookie.ts'
import type { JobOptions } from '#store/readers/pool.ts'

/** What a handler finds on `c.var`. */
export interface ApiEnv {
  Variables: RequestEnv['Variables'] & {
    /** Who was let in. */
    user: Login
  }
}

/** A part of the API: routes with schemas; what does not fit them is answered with 400. */
export function createApi(): OpenAPIHono<ApiEnv> {
  return createApiOf<ApiEnv>()
}

/** Throws `admin_required`; comes before the resource is looked up. */
export function requireAdmin(user: Login): void {
  if (!isAdmin(user.caller)) throw new ForbiddenError('admin_required', 'this operation needs the rights of an admin')
}

export const METRICS_PATH = '/metrics'

interface Door {
  keyGuard: KeyGuard
  sessions: Pick<Sessions, 'isCookieDue'>
  persons: Pick<Persons, 'acted'>
}

/**
 * Admits callers with a good key or session, and keeps who they are in `c.var.user`. A key makes a cookie irrelevant. A
 * cookie alone is not trusted: what may change anything has to come from a page of ours. Prometheus before 2.55 cannot
 * send `X-API-Key`, so `/metrics` takes a bearer token too.
 */
export function withKey(door: Door): MiddlewareHandler<ApiEnv> {
  return (c, next) => {
    const isForMetrics = c.req.path === METRICS_PATH
    const bearer = isForMetrics ? bearerToken(c.req.header('authorization')) : undefined
    const apiKey = c.req.header('x-api-key') ?? bearer
    const token = apiKey === undefined ? sessionTokenIn(c.req.header('cookie')) : undefined
    const user =
      token === undefined ? door.keyGuard.admit(apiKey, c.var.address, isForMetrics) : admitSession(c, door, token)
    c.set('user', user)
    // a body may take a minute, in which its sender may have lost what let it in
    c.set('requireStillIn', () => void requireStillIn(user))
    return next()
  }
}

/** Whether the caller's browser speaks TLS. */
export function isSecure(c: Context<ApiEnv>): boolean {
  return c.var.ownOrigin()?.startsWith('https:') ?? false
}

/** Whether a request came to this port without TLS, from a proxy as well. */
export function isPlain(c: Context<ApiEnv>): boolean {
  return c.req.url.startsWith('http:')
}

/** Who the cookie of a browser is signed in for. Throws 401; the answer then makes the browser forget the cookie. */
export function admitSession(c: Context<ApiEnv>, { keyGuard, sessions, persons }: Door, token: string): Login {
  const isUnsafe = !['GET', 'HEAD'].includes(c.req.method)
  if (isUnsafe) requireOwnOrigin(c.req.header('origin'), c.var.ownOrigin())
  try {
    const login = keyGuard.admitSession(token)
    const { session } = login
    if (session !== null && isUnsafe) persons.acted(session)
    // the browser forgets it after 400 days, however often it was sent
    if (session !== null && sessions.isCookieDue(session, isSecure(c)))
      setHeader(c, 'set-cookie', sessionCookie(token, isSecure(c)))
    return login
  } catch (error) {
    if (error instanceof UnauthenticatedError) setHeader(c, 'set-cookie', clearedSessionCookie(isSecure(c)))
    throw error
  }
}

/** For whom a reader thread works: users take turns, and what a client has left behind is not done. */
export function readerOwnerOf(c: Context<ApiEnv>): JobOptions {
  return { owner: c.var.user.caller.userId, signal: c.req.raw.signal }
}

/** How a list is read: the newest items at once; what skips or seeks gives way to devices and to other reads. */
export function listerOf(c: Context<ApiEnv>, isDeep: boolean): JobOptions {
  return isDeep ? { ...readerOwnerOf(c), isPartOfLongRead: true } : { ...readerOwnerOf(c), isShort: true }
}

export const adminOnly: MiddlewareHandler<ApiEnv> = async (c, next) => {
  requireAdmin(c.var.user)
  await next()
}

/** For admins, and for users who read metrics and nothing else. Throws `admin_required`. */
export const metricsOnly: MiddlewareHandler<ApiEnv> = async (c, next) => {
  if (c.var.user.row.role !== 'metrics') requireAdmin(c.var.user)
  await next()
}

/** Throws `staff_required`. */
export function requireStaff(caller: Caller): void {
  if (!isStaff(caller)) throw new ForbiddenError('staff_required', 'this operation is for staff and admins')
}

/** Throws `staff_required`; comes before the resource is looked up. */
export const staffOnly: MiddlewareHandler<ApiEnv> = async (c, next) => {
  requireStaff(c.var.user.caller)
  await next()
}
