import type { MiddlewareHandler } from 'hono'
import { isHubAdmin } from '#hub/access.ts'
import type { HubKeyGuard } from '#hub/key-guard.ts'
import { ForbiddenError, NotFoundError } from '#shared/errors.ts'
import { bearerToken } from '#shared/http/bearer.ts'
import type { HubEnv } from './env.ts'

/** Admits callers with a valid key, in `X-API-Key` or as a bearer token, and stores the user in `c.var.user`. */
export function withHubKey(guard: HubKeyGuard): MiddlewareHandler<HubEnv> {
  return async (c, next) => {
    const apiKey = c.req.header('x-api-key') ?? bearerToken(c.req.header('authorization'))
    c.set('user', await guard.admit(apiKey, c.var.address))
    c.set('reloadUser', () => guard.userOf(apiKey ?? ''))
    await next()
  }
}

/** Responds with 404 to ids with U+0000: no object has one, and PostgreSQL accepts none in a query. */
export const rejectNullBytes: MiddlewareHandler<HubEnv> = async (c, next) => {
  if (/%00/.test(c.req.path) || c.req.path.includes('\0'))
    throw new NotFoundError('not_found', 'there is nothing at this path')
  await next()
}

export const adminOnly: MiddlewareHandler<HubEnv> = async (c, next) => {
  if (!isHubAdmin(c.var.user)) throw new ForbiddenError('admin_required', 'this request needs the key of an admin')
  await next()
}

/** Admits users who may create intents: operators and admins. */
export const operatorOnly: MiddlewareHandler<HubEnv> = async (c, next) => {
  if (c.var.user.role === 'viewer')
    throw new ForbiddenError('operator_required', 'this request needs the key of an operator or an admin')
  await next()
}
