import type { OpenAPIHono } from '@hono/zod-openapi'
import type { MiddlewareHandler } from 'hono'
import { isAdmin } from '#domain/access.ts'
import { ForbiddenError } from '#shared/errors.ts'
import { inOrder } from '#shared/http/api-env.ts'
import { jsonBody } from '#shared/http/request-guards.ts'
import { answers, body } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import { userIdParams, userRoutes } from '#shared/http/user-routes.ts'
import { newPinSchema, setPinSchema } from '#shared/wire/sessions.ts'
import {
  issuedKeySchema,
  KEY_WARNING,
  newUserSchema,
  rotatedKeySchema,
  userPatchSchema,
  userSchema,
} from '#shared/wire/users.ts'
import { type ApiEnv, adminOnly, createApi } from './api-env.ts'
import type { PeopleDeps } from './deps.ts'
import { toUserJson } from './json/user-json.ts'

/** Limit that fits five thousand hardware ids of maximum length. */
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
    'Issues its API key, which is shown only here. A user who is not an admin sees only the devices in ' +
    'allowed_hardware_ids.',
  change:
    'A merge patch (RFC 7396): an omitted field stays unchanged; null clears email and ' +
    'allowed_hardware_ids. A narrower scope and is_active false apply immediately, also to open connections.',
  delete: 'Revokes the key immediately, and closes its connections.',
  rotateKey: 'Revokes the old key immediately, and closes connections that use it.',
})

/** `/users`: people and programs, their keys and scopes, for admins; and PINs, which users also set for themselves. */
export function createUsersApi({ users, persons }: PeopleDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()

  api.openapi(routes.list, (c) => c.json(inOrder(users.all(), c.req.valid('query').order).map(toUserJson), 200))

  api.openapi(routes.create, async (c) => {
    const { name, email = null, role, allowed_hardware_ids, mask_codes } = c.req.valid('json')
    const fields = {
      name,
      email,
      role,
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
      ...rest,
      isActive: is_active,
      allowedHardwareIds: allowed_hardware_ids,
      masksCodes: mask_codes,
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

  api.openapi(
    route.put('/users/{id}/pin', 'Set the PIN of a user', {
      description:
        'PIN with which the person signs in on shared tablets. For admins, and for the own PIN: that of the PIN ' +
        'user, else of the user of the session or key. An admin without admin rights now, as on a tablet of staff, ' +
        'sends the old PIN. Sign-ins with the old PIN end.',
      middleware: [maySetPin, jsonBody],
      request: { params: userIdParams, body: body(newPinSchema) },
      responses: answers(setPinSchema, 'The PIN is set, or removed.', 400, 403, 404, 413, 415),
    }),
    async (c) => {
      const { id } = c.req.valid('param')
      const { pin, old_pin } = c.req.valid('json')
      // a stranger at a tablet that an admin has left could set a PIN that has the rights of an admin on other tablets
      if (users.require(id).role === 'admin' && !isAdmin(c.var.user.caller)) {
        const { session } = c.var.user
        if (session === null || old_pin === undefined)
          throw new ForbiddenError(
            'admin_required',
            'the PIN of an admin is set with the rights of an admin, or on a tablet with old_pin',
          )
        await persons.requirePin(session, id, old_pin)
      }
      await persons.setPin(id, pin)
      return c.json({ success: true as const }, 200)
    },
  )

  return api
}

/** Throws `admin_required` for the PIN of a different user. */
const maySetPin: MiddlewareHandler<ApiEnv> = (c, next) => {
  const { caller } = c.var.user
  if (!isAdmin(caller) && caller.userId !== c.req.param('id'))
    throw new ForbiddenError('admin_required', 'only an admin may set the PIN of a different user')
  return next()
}
