import type { MiddlewareHandler } from 'hono'
import { z } from 'zod'
import { oldestListQuerySchema } from '#shared/wire/schema/params.ts'
import { deletedUserSchema } from '#shared/wire/users.ts'
import type { RequestEnv } from './api-env.ts'
import { listRoute } from './list-route.ts'
import { jsonBodyUpTo } from './request-guards.ts'
import { answers, body, json, problems } from './responses.ts'
import { route } from './route.ts'

export const userIdParams = z.object({
  id: z.string().meta({ description: 'user_id', example: '6c0a4f2e-6f5d-4a54-8b0e-0d8f3f0a9f11' }),
})

/** Routes of `/users`, all for admins; `texts` describes them by name. */
export function userRoutes<
  Env extends RequestEnv,
  User extends z.ZodType,
  NewUser extends z.ZodType,
  Patch extends z.ZodType,
  Issued extends z.ZodType,
  Rotated extends z.ZodType,
>(
  adminOnly: MiddlewareHandler<Env>,
  maxBodyBytes: number,
  schemas: { user: User; newUser: NewUser; patch: Patch; issued: Issued; rotated: Rotated },
  texts: Record<'create' | 'change' | 'delete' | 'rotateKey', string>,
) {
  const userBody = jsonBodyUpTo(maxBodyBytes)
  return {
    list: listRoute('/users', 'List users', {
      middleware: [adminOnly],
      request: { query: oldestListQuerySchema },
      responses: answers(z.array(schemas.user), 'All users, oldest first unless order is given.', 400, 403),
    }),
    create: route.post('/users', 'Create a user', {
      description: texts.create,
      middleware: [adminOnly, userBody],
      request: { body: body(schemas.newUser) },
      responses: {
        201: json(schemas.issued, 'User and its key, shown only in this response.'),
        ...problems(400, 403, 413, 415),
      },
    }),
    get: route.get('/users/{id}', 'Get a user', {
      middleware: [adminOnly],
      request: { params: userIdParams },
      responses: answers(schemas.user, 'User.', 403, 404),
    }),
    change: route.patch('/users/{id}', 'Change a user', {
      description: texts.change,
      middleware: [adminOnly, userBody],
      request: { params: userIdParams, body: body(schemas.patch) },
      responses: answers(schemas.user, 'User after the change.', 400, 403, 404, 409, 413, 415),
    }),
    delete: route.delete('/users/{id}', 'Delete a user', {
      description: texts.delete,
      middleware: [adminOnly],
      request: { params: userIdParams },
      responses: answers(deletedUserSchema, 'User deleted; its key is rejected from now on.', 403, 404, 409),
    }),
    rotateKey: route.post('/users/{id}/rotate-key', 'Issue a new API key', {
      description: texts.rotateKey,
      middleware: [adminOnly],
      request: { params: userIdParams },
      responses: {
        200: json(schemas.rotated, 'New key, shown only in this response; the old key is rejected from now on.'),
        ...problems(403, 404),
      },
    }),
  }
}
