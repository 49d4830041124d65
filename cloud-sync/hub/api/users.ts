import type { OpenAPIHono } from '@hono/zod-openapi'
import { changeHubUser, deleteHubUser, type HubUser, listHubUsers, requireHubUser } from '#hub/store/users.ts'
import { addHubUser } from '#hub/users.ts'
import { inOrder } from '#shared/http/api-env.ts'
import { userRoutes } from '#shared/http/user-routes.ts'
import { hashSecret, newHubKey } from '#shared/ids.ts'
import { toIso } from '#shared/time.ts'
import {
  type HubUserJson,
  hubUserPatchSchema,
  hubUserSchema,
  issuedHubKeySchema,
  newHubUserSchema,
  rotatedHubKeySchema,
} from '#shared/wire/hub-users.ts'
import { KEY_WARNING } from '#shared/wire/users.ts'
import type { PeopleApiDeps } from './deps.ts'
import { createHubPart, type HubEnv } from './env.ts'
import { adminOnly } from './guards.ts'

/** Enough for five thousand sites with ids of maximum length. */
const MAX_BODY_BYTES = 256 * 1024

const schemas = {
  user: hubUserSchema,
  newUser: newHubUserSchema,
  patch: hubUserPatchSchema,
  issued: issuedHubKeySchema,
  rotated: rotatedHubKeySchema,
}
const routes = userRoutes(adminOnly, MAX_BODY_BYTES, schemas, {
  create:
    'The user sees the sites in site_ids: null means all sites, and without it the user sees none. Only this ' +
    'answer shows the key of the user.',
  change:
    'A merge patch (RFC 7396): fields that are left out keep their values. A narrower scope and is_active false ' +
    'take effect immediately.',
  delete: 'The key of the user becomes invalid immediately.',
  rotateKey: 'The old key becomes invalid immediately.',
})

function toUserJson({ userId, name, role, siteIds, isActive, masksCodes, createdAtMs }: HubUser): HubUserJson {
  return {
    user_id: userId,
    name,
    role,
    site_ids: siteIds === null ? null : [...siteIds],
    is_active: isActive,
    mask_codes: masksCodes,
    created_at: toIso(createdAtMs),
  }
}

/** `/users`: users and programs of the hub. All for admins. */
export function createHubUsersApi({ database, clock }: PeopleApiDeps): OpenAPIHono<HubEnv> {
  const api = createHubPart()

  api.openapi(routes.list, async (c) => {
    const users = inOrder(await listHubUsers(database), c.req.valid('query').order)
    return c.json(users.map(toUserJson), 200)
  })

  api.openapi(routes.create, async (c) => {
    const { name, role, site_ids, mask_codes } = c.req.valid('json')
    const fields = { name, role, siteIds: site_ids, masksCodes: mask_codes }
    const { user, apiKey } = await addHubUser(database, fields, clock.nowMs())
    c.header('location', `/users/${user.userId}`)
    return c.json({ user: toUserJson(user), api_key: apiKey, warning: KEY_WARNING }, 201)
  })

  api.openapi(routes.get, async (c) => c.json(toUserJson(await requireHubUser(database, c.req.valid('param').id)), 200))

  api.openapi(routes.change, async (c) => {
    const { name, role, site_ids, is_active, mask_codes } = c.req.valid('json')
    const change = { name, role, siteIds: site_ids, isActive: is_active, masksCodes: mask_codes }
    return c.json(toUserJson(await changeHubUser(database, c.req.valid('param').id, change)), 200)
  })

  api.openapi(routes.delete, async (c) => {
    const { id } = c.req.valid('param')
    await deleteHubUser(database, id)
    return c.json({ success: true as const, deleted: id }, 200)
  })

  api.openapi(routes.rotateKey, async (c) => {
    const apiKey = newHubKey()
    await changeHubUser(database, c.req.valid('param').id, { keyHash: hashSecret(apiKey) })
    return c.json({ success: true as const, api_key: apiKey, warning: KEY_WARNING }, 200)
  })

  return api
}
