import type { OpenAPIHono } from '@hono/zod-openapi'
import { z } from 'zod'
import { inOrder } from '#shared/http/api-env.ts'
import { listRoute } from '#shared/http/list-route.ts'
import { answers } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import { meSchema, peopleQuerySchema, personSchema } from '#shared/wire/sessions.ts'
import { type ApiEnv, createApi } from './api-env.ts'
import type { CourseDeps, MachineDeps, PeopleDeps } from './deps.ts'
import { toMeJson } from './json/session-json.ts'

/** `/me` and `/people`: the caller, and the other PIN users of a tablet. For every authenticated caller. */
export function createMeApi(deps: PeopleDeps & CourseDeps & MachineDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()

  api.openapi(
    route.get('/me', 'Get who you are', {
      description: 'The user of the key or session, and the current rights.',
      responses: answers(meSchema, 'The caller.'),
    }),
    (c) => c.json(toMeJson(c.var.user, deps), 200),
  )

  api.openapi(
    listRoute('/people', 'List who can act on a tablet', {
      description: 'Active users with a PIN, by name.',
      request: { query: peopleQuerySchema },
      responses: answers(z.array(personSchema), 'Users with a PIN, by name.', 400),
    }),
    (c) => {
      const people = deps.users
        .all()
        .flatMap(({ userId, name, pinHash }) => {
          const caller = pinHash === null ? undefined : deps.users.callerOf(userId)
          return caller === undefined ? [] : [{ user_id: userId, name, role: caller.role }]
        })
        .sort((a, b) => a.name.localeCompare(b.name) || (a.user_id < b.user_id ? -1 : 1))
      return c.json([...inOrder(people, c.req.valid('query').order)], 200)
    },
  )

  return api
}
