import type { OpenAPIHono } from '@hono/zod-openapi'
import type { Context, MiddlewareHandler } from 'hono'
import { isAdmin } from '#domain/access.ts'
import type { KeyGuard } from '#services/key-guard.ts'
import type { User } from '#services/users.ts'
import { ForbiddenError } from '#shared/errors.ts'
import { createApiOf, type RequestEnv } from '#shared/http/api-env.ts'
import type { JobOptions } from '#store/readers/pool.ts'

/** What a handler finds on `c.var`. */
export interface ApiEnv {
  Variables: RequestEnv['Variables'] & { user: User }
}

/** A part of the API: routes with schemas; what does not fit them is answered with 400. */
export function createApi(): OpenAPIHono<ApiEnv> {
  return createApiOf<ApiEnv>()
}

/** Throws `admin_required`; comes before the resource is looked up. */
export function requireAdmin(user: User): void {
  if (!isAdmin(user.caller))
    throw new ForbiddenError('admin_required', 'this operation needs the key of an admin')
}

/** Admits callers with a good key and keeps who they are in `c.var.user`. */
export function withKey(guard: KeyGuard): MiddlewareHandler<ApiEnv> {
  return (c, next) => {
    c.set('user', guard.admit(c.req.header('x-api-key'), c.var.address))
    return next()
  }
}

/** For whom a reader thread works: users take turns, and what a client has left behind is not done. */
export function askerOf(c: Context<ApiEnv>): JobOptions {
  return { owner: c.var.user.caller.userId, signal: c.req.raw.signal }
}

/** How a list is read: the newest items at once; what skips or seeks gives way to devices and to other reads. */
export function listerOf(c: Context<ApiEnv>, isDeep: boolean): JobOptions {
  return isDeep ? { ...askerOf(c), isPartOfLongRead: true } : { ...askerOf(c), isShort: true }
}

export const adminOnly: MiddlewareHandler<ApiEnv> = async (c, next) => {
  requireAdmin(c.var.user)
  await next()
}
