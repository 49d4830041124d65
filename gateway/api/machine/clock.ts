import type { OpenAPIHono } from '@hono/zod-openapi'
import { jsonBody } from '#shared/http/request-guards.ts'
import { answers, body } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import { clockConfirmationSchema, confirmedClockSchema } from '#shared/wire/clock.ts'
import { type ApiEnv, adminOnly, createApi } from '../api-env.ts'
import type { MachineDeps } from '../deps.ts'

/** `/clock`: an admin confirms the gateway's clock. */
export function createClockApi({ clockConfirmation }: MachineDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()

  api.openapi(
    route.post('/clock/confirm', 'Confirm the clock of the gateway', {
      description:
        "Confirms the gateway's clock: automatic actions may begin, deletion by age continues, and a clock fault " +
        'in /health ends. Holds until the next start, or until the clock is set by more than a ' +
        'minute. Rejected if the clock is more than two minutes off the given time: set it first. For admins.',
      middleware: [adminOnly, jsonBody],
      request: { body: body(clockConfirmationSchema) },
      responses: answers(confirmedClockSchema, 'The clock is confirmed.', 400, 403, 409, 413, 415),
    }),
    async (c) => {
      await clockConfirmation.confirm(c.req.valid('json').time)
      return c.json({ clock: 'confirmed' as const }, 200)
    },
  )

  return api
}
