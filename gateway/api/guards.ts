import type { MiddlewareHandler } from 'hono'
import type { KeyGuard } from '#services/key-guard.ts'
import { addressOf } from '#shared/http/api-env.ts'
import { type ApiEnv, requireAdmin } from './api-env.ts'

/** Admits callers with a good key and keeps who they are in `c.var.user`. */
export function withKey(guard: KeyGuard): MiddlewareHandler<ApiEnv> {
  return (c, next) => {
    c.set('user', guard.admit(c.req.header('x-api-key'), addressOf(c)))
    return next()
  }
}

export const adminOnly: MiddlewareHandler<ApiEnv> = async (c, next) => {
  requireAdmin(c.var.user)
  await next()
}
