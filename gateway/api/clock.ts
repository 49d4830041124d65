import type { OpenAPIHono } from '@hono/zod-openapi'
import { jsonBody } from '#shared/http/request-guards.ts'
import { answers, body } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import { toIso } from '#shared/time.ts'
import { clockConfirmationSchema, confirmedClockSchema } from '#shared/wire/clock.ts'
import { type ApiEnv, adminOnly, createApi } from './api-env.ts'
import type { ApiDeps } from './deps.ts'

/** `/clock`: ends a doubt about the gateway's clock. For admins. */
export function createClockApi({ clock, clockMark }: ApiDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()

  api.openapi(
    route.post('/clock/confirm', 'Confirm the clock of the gateway', {
      description:
        "Ends a doubt that /health shows as clock: deletion by age goes on, and the gateway's time is that of its machine again. Refused when the machine's clock is more than five minutes off the given time: set it first. For admins.",
      middleware: [adminOnly, jsonBody],
      request: { body: body(clockConfirmationSchema) },
      responses: answers(confirmedClockSchema, 'The clock is confirmed.', 400, 403, 409, 413, 415),
    }),
    async (c) => {
      await clockMark.confirm(c.req.valid('json').timestamp)
      return c.json({ success: true as const, timestamp: toIso(clock.nowMs()) }, 200)
    },
  )

  return api
}
