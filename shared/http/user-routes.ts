import type { MiddlewareHandler } from 'hono'
import { z } from 'zod'
import { oldestListQuerySchema } from '#shared/wire/schema/params.ts'
import { deletedUserSchema } from '#shared/wire/users.ts'
import type { RequestEnv } from './api-env.ts'
import { listRoute } from './list-route.ts'
import { jsonBodyUpTo } from './request-guards.ts'
import { answers, body, json, problems } from './responses.ts'
import { route } from './route.ts'

/** The `:id` of a user's paths. */
export const userIdParams = z.object({
  id: z.string().meta({ description: 'user_id', example: '6c0a4f2e-6f5d-4a54-8b0e-0d8f3f0a9f11' }),
})

/** The routes of `/users`, all for admins; `texts` says what the routes of this name do. */
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
      responses: answers(z.array(schemas.user), 'All users, oldest first unless order says otherwise.', 400, 403),
    }),
    create: route.post('/users', 'Create a user', {
      description: texts.create,
      middleware: [adminOnly, userBody],
      request: { body: body(schemas.newUser) },
      responses: {
        201: json(schemas.issued, 'The user and its key, which only this answer shows.'),
        ...problems(400, 403, 413, 415),
      },
    }),
    get: route.get('/users/{id}', 'Get a user', {
      middleware: [adminOnly],
      request: { params: userIdParams },
      responses: answers(schemas.user, 'The user.', 403, 404),
    }),
    change: route.patch('/users/{id}', 'Change a user', {
      description: texts.change,
      middleware: [adminOnly, userBody],
      request: { params: userIdParams, body: body(schemas.patch) },
      responses: answers(schemas.user, 'The user as it is now.', 400, 403, 404, 409, 413, 415),
    }),
    delete: route.delete('/users/{id}', 'Delete a user', {
      description: texts.delete,
      middleware: [adminOnly],
      request: { params: userIdParams },
      responses: answers(deletedUserSchema, 'The user is deleted and its key is void.', 403, 404, 409),
    }),
    rotateKey: route.post('/users/{id}/rotate-key', 'Issue a new API key', {
      description: texts.rotateKey,
      middleware: [adminOnly],
      request: { params: userIdParams },
      responses: {
        200: json(schemas.rotated, 'The new key, which only this answer shows; the old key is void.'),
        ...problems(403, 404),
      },
    }),
  }
}
