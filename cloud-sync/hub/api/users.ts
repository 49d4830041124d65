import type { OpenAPIHono } from '@hono/zod-openapi'
import { z } from 'zod'
import type { Database } from '#hub/store/database/database.ts'
import { changeHubUser, deleteHubUser, type HubUser, listHubUsers, requireHubUser } from '#hub/store/users.ts'
import { addHubUser } from '#hub/users.ts'
import { jsonBodyUpTo } from '#shared/http/request-guards.ts'
import { answers, body, json, problems } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import { hashSecret, newHubKey } from '#shared/ids.ts'
import { type Clock, toIso } from '#shared/time.ts'
import {
  deletedHubUserSchema,
  type HubUserJson,
  hubUserPatchSchema,
  hubUserSchema,
  issuedHubKeySchema,
  newHubUserSchema,
  rotatedHubKeySchema,
} from '#shared/wire/hub-users.ts'
import { createHubPart, type HubEnv } from './env.ts'
import { adminOnly } from './guards.ts'

const KEY_WARNING = 'Keep this key: the head office does not store it and cannot show it again.'
/** Five thousand sites of the longest name fit. */
const userBody = jsonBodyUpTo(256 * 1024)
const idParams = z.object({
  id: z.string().meta({ description: 'user_id', example: '6c0a4f2e-6f5d-4a54-8b0e-0d8f3f0a9f11' }),
})

function toUserJson({ userId, name, role, siteIds, isActive, createdAtMs }: HubUser): HubUserJson {
  return {
    user_id: userId,
    name,
    role,
    site_ids: siteIds === null ? null : [...siteIds],
    is_active: isActive,
    created_at: toIso(createdAtMs),
  }
}

/** `/users`: the people and programs of the head office. All for admins. */
export function createHubUsersApi({
  database,
  clock,
}: {
  database: Database
  clock: Clock
}): OpenAPIHono<HubEnv> {
  const api = createHubPart()

  api.openapi(
    route.get('/users', 'List users', {
      middleware: [adminOnly],
      responses: answers(z.array(hubUserSchema), 'Users, oldest first.', 403),
    }),
    async (c) => c.json((await listHubUsers(database)).map(toUserJson), 200),
  )

  api.openapi(
    route.post('/users', 'Create a user', {
      description:
        'The user sees the sites in site_ids: null means all sites, and without it the user sees none. Only this answer shows the key of the user.',
      middleware: [adminOnly, userBody],
      request: { body: body(newHubUserSchema) },
      responses: {
        201: json(issuedHubKeySchema, 'The user and its key, which only this answer shows.'),
        ...problems(400, 403, 413, 415),
      },
    }),
    async (c) => {
      const { name, role, site_ids } = c.req.valid('json')
      const { user, apiKey } = await addHubUser(database, { name, role, siteIds: site_ids }, clock.nowMs())
      c.header('location', `/users/${user.userId}`)
      return c.json({ user: toUserJson(user), api_key: apiKey, warning: KEY_WARNING }, 201)
    },
  )

  api.openapi(
    route.get('/users/{id}', 'Get a user', {
      middleware: [adminOnly],
      request: { params: idParams },
      responses: answers(hubUserSchema, 'The user.', 403, 404),
    }),
    async (c) => c.json(toUserJson(await requireHubUser(database, c.req.valid('param').id)), 200),
  )

  api.openapi(
    route.patch('/users/{id}', 'Change a user', {
      description:
        'A merge patch (RFC 7396): fields that are left out keep their values. A narrower scope and is_active false take effect at once.',
      middleware: [adminOnly, userBody],
      request: { params: idParams, body: body(hubUserPatchSchema) },
      responses: answers(hubUserSchema, 'The changed user.', 400, 403, 404, 409, 413, 415),
    }),
    async (c) => {
      const { name, role, site_ids, is_active } = c.req.valid('json')
      const change = { name, role, siteIds: site_ids, isActive: is_active }
      return c.json(toUserJson(await changeHubUser(database, c.req.valid('param').id, change)), 200)
    },
  )

  api.openapi(
    route.delete('/users/{id}', 'Delete a user', {
      description: 'The key of the user is void at once.',
      middleware: [adminOnly],
      request: { params: idParams },
      responses: answers(deletedHubUserSchema, 'The deleted user.', 403, 404, 409),
    }),
    async (c) => {
      const { id } = c.req.valid('param')
      await deleteHubUser(database, id)
      return c.json({ success: true as const, deleted: id }, 200)
    },
  )

  api.openapi(
    route.post('/users/{id}/rotate-key', 'Issue a new API key', {
      description: 'The old key is void at once.',
      middleware: [adminOnly],
      request: { params: idParams },
      responses: {
        200: json(rotatedHubKeySchema, 'The new key, which only this answer shows; the old key is void.'),
        ...problems(403, 404),
      },
    }),
    async (c) => {
      const apiKey = newHubKey()
      await changeHubUser(database, c.req.valid('param').id, { keyHash: hashSecret(apiKey) })
      return c.json({ success: true as const, api_key: apiKey, warning: KEY_WARNING }, 200)
    },
  )

  return api
}
