import type { OpenAPIHono } from '@hono/zod-openapi'
import { answers } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import { confirmedMachineSchema } from '#shared/wire/system.ts'
import { type ApiEnv, adminOnly, createApi } from '../api-env.ts'
import type { MachineDeps } from '../deps.ts'

/** `/machine`: an admin confirms that the course continues on a new machine. */
export function createMachineApi({ machine }: MachineDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()

  api.openapi(
    route.post('/machine/confirm', 'Confirm that this is the same course on a new machine', {
      description:
        'Clears machine in /health: the gateway then belongs to this machine, and the sync to the hub continues. ' +
        'For a copy that becomes a different course, use the command new-site instead. Changes nothing on the ' +
        'previous machine. For admins.',
      middleware: [adminOnly],
      responses: answers(confirmedMachineSchema, 'The course continues on this machine.', 403),
    }),
    async (c) => {
      await machine.confirm()
      return c.json({ machine: 'confirmed' as const }, 200)
    },
  )

  return api
}
