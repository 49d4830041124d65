import type { OpenAPIHono } from '@hono/zod-openapi'
import { answers } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import { confirmedMachineSchema } from '#shared/wire/system.ts'
import { type ApiEnv, adminOnly, createApi } from '../api-env.ts'
import type { MachineDeps } from '../deps.ts'

/** `/machine`: an admin says that the course goes on on another machine. */
export function createMachineApi({ machine }: MachineDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()

  api.openapi(
    route.post('/machine/confirm', 'Confirm that this is the same course on a new machine', {
      description:
        'Ends the notice machine of /health: from now on the gateway belongs to this machine, and the head ' +
        'office is sent everything. For a copy that is to be another course use the command new-site in its ' +
        'place. Changes nothing on the machine of before. For admins.',
      middleware: [adminOnly],
      responses: answers(confirmedMachineSchema, 'The course goes on on this machine.', 403),
    }),
    async (c) => {
      await machine.confirm()
      return c.json({ machine: 'confirmed' as const }, 200)
    },
  )

  return api
}
