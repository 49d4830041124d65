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

export interface ApiEnv {
  Variables: RequestEnv['Variables'] & {
    user: Login
  }
}

/** Creates a component of the API: routes with schemas. Requests that do not match them get 400. */
export function createApi(): OpenAPIHono<ApiEnv> {
  return createApiOf<ApiEnv>()
}

/** Throws `admin_required`; call it before the resource is read. */
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
 * Admits callers with a valid key or session and stores them in `c.var.user`. A cookie is ignored if there is a key. A
 * cookie alone is not trusted: a request that may change data must come from a page of this gateway. Prometheus before
 * 2.55 cannot send `X-API-Key`, so `/metrics` accepts a bearer token too.
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
    // a body may take a minute to arrive, in which its sender may have lost access
    c.set('requireStillIn', () => void requireStillIn(user))
    return next()
  }
}

/** True if the caller's browser uses TLS. */
export function isSecure(c: Context<ApiEnv>): boolean {
  return c.var.ownOrigin()?.startsWith('https:') ?? false
}

/** True if a request reached this port without TLS, even from a proxy that has TLS. */
export function isPlain(c: Context<ApiEnv>): boolean {
  return c.req.url.startsWith('http:')
}

/** Returns the login of a browser's cookie. Throws 401 and lets the response clear the cookie. */
export function admitSession(c: Context<ApiEnv>, { keyGuard, sessions, persons }: Door, token: string): Login {
  const isUnsafe = !['GET', 'HEAD'].includes(c.req.method)
  if (isUnsafe) requireOwnOrigin(c.req.header('origin'), c.var.ownOrigin())
  try {
    const login = keyGuard.admitSession(token)
    const { session } = login
    if (session !== null && isUnsafe) persons.acted(session)
    // browsers drop a cookie after 400 days unless it is set again
    if (session !== null && sessions.isCookieDue(session, isSecure(c)))
      setHeader(c, 'set-cookie', sessionCookie(token, isSecure(c)))
    return login
  } catch (error) {
    if (error instanceof UnauthenticatedError) setHeader(c, 'set-cookie', clearedSessionCookie(isSecure(c)))
    throw error
  }
}

/** Returns options of a reader-thread job: the jobs of users alternate; those of disconnected clients are dropped. */
export function readerOwnerOf(c: Context<ApiEnv>): JobOptions {
  return { owner: c.var.user.caller.userId, signal: c.req.raw.signal }
}

/** Options for reading a list: the newest items have priority; a skip or seek yields to devices and other reads. */
export function listerOf(c: Context<ApiEnv>, isDeep: boolean): JobOptions {
  return isDeep ? { ...readerOwnerOf(c), isPartOfLongRead: true } : { ...readerOwnerOf(c), isShort: true }
}

export const adminOnly: MiddlewareHandler<ApiEnv> = async (c, next) => {
  requireAdmin(c.var.user)
  await next()
}

/** Admits admins, and users with the `metrics` role. Throws `admin_required`. */
export const metricsOnly: MiddlewareHandler<ApiEnv> = async (c, next) => {
  if (c.var.user.row.role !== 'metrics') requireAdmin(c.var.user)
  await next()
}

/** Throws `staff_required`. */
export function requireStaff(caller: Caller): void {
  if (!isStaff(caller)) throw new ForbiddenError('staff_required', 'this operation is for staff and admins')
}

/** Throws `staff_required`; runs before the resource is read. */
export const staffOnly: MiddlewareHandler<ApiEnv> = async (c, next) => {
  requireStaff(c.var.user.caller)
  await next()
}
