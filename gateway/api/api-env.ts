import type { OpenAPIHono } from '@hono/zod-openapi'
import { isAdmin } from '#domain/access.ts'
import type { User } from '#services/users.ts'
import { ForbiddenError } from '#shared/errors.ts'
import { createApiOf, type RequestEnv } from '#shared/http/api-env.ts'

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
  if (!isAdmin(user.caller)) throw new ForbiddenError('admin_required', 'this needs the key of an admin')
}
