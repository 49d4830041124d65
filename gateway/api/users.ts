import type { OpenAPIHono } from '@hono/zod-openapi'
import { z } from 'zod'
import type { Users } from '#services/users.ts'
import { jsonBodyUpTo } from '#shared/http/request-guards.ts'
import { answers, body, json, problems } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import { toIso } from '#shared/time.ts'
import {
  deletedUserSchema,
  issuedKeySchema,
  newUserSchema,
  rotatedKeySchema,
  type UserJson,
  userPatchSchema,
  userSchema,
} from '#shared/wire/users.ts'
import { type ApiEnv, adminOnly, createApi } from './api-env.ts'

const KEY_WARNING = 'Keep this key: it is not stored and cannot be shown again.'
/** Five thousand hardware ids of the greatest length fit. */
const userBody = jsonBodyUpTo(512 * 1024)
const idParams = z.object({
  id: z.string().meta({ description: 'user_id', example: '6c0a4f2e-6f5d-4a54-8b0e-0d8f3f0a9f11' }),
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
export function createUsersApi(users: Users): OpenAPIHono<ApiEnv> {
  const api = createApi()

  api.openapi(
    route.get('/users', 'List users', {
      middleware: [adminOnly],
      responses: answers(z.array(userSchema), 'All users, oldest first.', 403),
    }),
    (c) => c.json(users.all().map(toUserJson), 200),
  )

  api.openapi(
    route.post('/users', 'Create a user', {
      description:
        'Issues its API key, which is shown only here. A user who is not an admin sees only the devices in allowed_hardware_ids.',
      middleware: [adminOnly, userBody],
      request: { body: body(newUserSchema) },
      responses: {
        201: json(issuedKeySchema, 'The user and its key, shown only here.'),
        ...problems(400, 403, 413, 415),
      },
    }),
    async (c) => {
      const { name, email, role, allowed_hardware_ids } = c.req.valid('json')
      const { row, apiKey } = await users.create({
        name,
        email: email ?? null,
        role,
        allowedHardwareIds: allowed_hardware_ids,
      })
      c.header('location', `/users/${row.userId}`)
      return c.json({ user: toUserJson(row), api_key: apiKey, warning: KEY_WARNING }, 201)
    },
  )

  api.openapi(
    route.get('/users/{id}', 'Get a user', {
      middleware: [adminOnly],
      request: { params: idParams },
      responses: answers(userSchema, 'The user.', 403, 404),
    }),
    (c) => c.json(toUserJson(users.require(c.req.valid('param').id)), 200),
  )

  api.openapi(
    route.patch('/users/{id}', 'Change a user', {
      description:
        'A merge patch (RFC 7396): a field that is left out stays as it is; null clears email and allowed_hardware_ids. A narrower scope and is_active false act at once, on open connections too.',
      middleware: [adminOnly, userBody],
      request: { params: idParams, body: body(userPatchSchema) },
      responses: answers(userSchema, 'The user as it is now.', 400, 403, 404, 409, 413, 415),
    }),
    async (c) => {
      const { id } = c.req.valid('param')
      const { is_active, allowed_hardware_ids, ...rest } = c.req.valid('json')
      users.require(id)
      const row = await users.change(id, {
        ...rest,
        isActive: is_active,
        allowedHardwareIds: allowed_hardware_ids,
      })
      return c.json(toUserJson(row), 200)
    },
  )

  api.openapi(
    route.delete('/users/{id}', 'Delete a user', {
      description: 'The key is void at once, and the gateway closes its connections.',
      middleware: [adminOnly],
      request: { params: idParams },
      responses: answers(deletedUserSchema, 'The user is deleted and its key is void.', 403, 404, 409),
    }),
    async (c) => {
      const { id } = c.req.valid('param')
      await users.delete(id)
      return c.json({ success: true as const, deleted: id }, 200)
    },
  )

  api.openapi(
    route.post('/users/{id}/rotate-key', 'Issue a new API key', {
      description: 'The old key is void at once, and the gateway closes connections that use it.',
      middleware: [adminOnly],
      request: { params: idParams },
      responses: answers(rotatedKeySchema, 'The new key, shown only here; the old one is void.', 403, 404),
    }),
    async (c) => {
      const apiKey = await users.rotateKey(c.req.valid('param').id)
      return c.json({ success: true as const, api_key: apiKey, warning: KEY_WARNING }, 200)
    },
  )

  return api
}
