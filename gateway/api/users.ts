import type { OpenAPIHono } from '@hono/zod-openapi'
import type { Users } from '#services/users.ts'
import { inOrder } from '#shared/http/api-env.ts'
import { userRoutes } from '#shared/http/user-routes.ts'
import { toIso } from '#shared/time.ts'
import {
  issuedKeySchema,
  KEY_WARNING,
  newUserSchema,
  rotatedKeySchema,
  type UserJson,
  userPatchSchema,
  userSchema,
} from '#shared/wire/users.ts'
import { type ApiEnv, adminOnly, createApi } from './api-env.ts'
import type { ApiDeps } from './deps.ts'

/** Five thousand hardware ids of the greatest length fit. */
const MAX_BODY_BYTES = 512 * 1024

const schemas = {
  user: userSchema,
  newUser: newUserSchema,
  patch: userPatchSchema,
  issued: issuedKeySchema,
  rotated: rotatedKeySchema,
}
const routes = userRoutes(adminOnly, MAX_BODY_BYTES, schemas, {
  create:
    'Issues its API key, which is shown only here. A user who is not an admin sees only the devices in allowed_hardware_ids.',
  change:
    'A merge patch (RFC 7396): a field that is left out stays as it is; null clears email and allowed_hardware_ids. A narrower scope and is_active false act at once, on open connections too.',
  delete: 'The key is void at once, and the gateway closes its connections.',
  rotateKey: 'The old key is void at once, and the gateway closes connections that use it.',
})

function toUserJson(row: ReturnType<Users['require']>): UserJson {
  const { usage } = row
  return {
    user_id: row.userId,
    name: row.name,
    email: row.email,
    role: row.role,
    is_active: row.isActive,
    allowed_hardware_ids: row.allowedHardwareIds,
    mask_codes: row.masksCodes,
    created_at: toIso(row.createdAtMs),
    updated_at: toIso(row.updatedAtMs),
    usage: {
      total_requests: usage.totalRequests,
      requests_today: usage.requestsToday,
      last_reset: toIso(usage.lastResetMs),
      ...(usage.firstUsedAtMs === null ? {} : { first_used_at: toIso(usage.firstUsedAtMs) }),
      ...(usage.lastUsedAtMs === null ? {} : { last_used_at: toIso(usage.lastUsedAtMs) }),
    },
  }
}

/** `/users`: people and programs, their keys and scopes. All for admins. */
export function createUsersApi({ users }: ApiDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()

  api.openapi(routes.list, (c) =>
    c.json(inOrder(users.all(), c.req.valid('query').order).map(toUserJson), 200),
  )

  api.openapi(routes.create, async (c) => {
    const { name, email = null, role, allowed_hardware_ids, mask_codes } = c.req.valid('json')
    const fields = {
      ...{ name, email, role },
      allowedHardwareIds: allowed_hardware_ids,
      masksCodes: mask_codes,
    }
    const { row, apiKey } = await users.create(fields)
    c.header('location', `/users/${row.userId}`)
    return c.json({ user: toUserJson(row), api_key: apiKey, warning: KEY_WARNING }, 201)
  })

  api.openapi(routes.get, (c) => c.json(toUserJson(users.require(c.req.valid('param').id)), 200))

  api.openapi(routes.change, async (c) => {
    const { id } = c.req.valid('param')
    const { is_active, allowed_hardware_ids, mask_codes, ...rest } = c.req.valid('json')
    users.require(id)
    const change = {
      ...{ ...rest, isActive: is_active },
      ...{ allowedHardwareIds: allowed_hardware_ids, masksCodes: mask_codes },
    }
    return c.json(toUserJson(await users.change(id, change)), 200)
  })

  api.openapi(routes.delete, async (c) => {
    const { id } = c.req.valid('param')
    await users.delete(id)
    return c.json({ success: true as const, deleted: id }, 200)
  })

  api.openapi(routes.rotateKey, async (c) => {
    const apiKey = await users.rotateKey(c.req.valid('param').id)
    return c.json({ success: true as const, api_key: apiKey, warning: KEY_WARNING }, 200)
  })

  return api
}
