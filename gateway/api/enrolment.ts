import type { OpenAPIHono } from '@hono/zod-openapi'
import { jsonBody } from '#shared/http/request-guards.ts'
import { answers, body } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import { toIso } from '#shared/time.ts'
import { enrolmentSchema, newEnrolmentSchema, openedEnrolmentSchema } from '#shared/wire/enrolment.ts'
import { type ApiEnv, adminOnly, createApi } from './api-env.ts'
import type { DevicesDeps } from './deps.ts'

/** `/enrolment`: the period in which devices may register themselves with the shared key. For admins. */
export function createEnrolmentApi({ enrolment }: DevicesDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()

  api.openapi(
    route.get('/enrolment', 'Get who may enrol now', {
      description: 'State of the enrolment with CARTBARN_ENROLMENT_KEY. For admins.',
      middleware: [adminOnly],
      responses: answers(enrolmentSchema, 'True if it is open, its end, and the number of waiting devices.', 403),
    }),
    (c) => {
      const { isKeyConfigured, isOpen, openUntilMs, waiting, waitingLimit } = enrolment.state()
      return c.json(
        {
          key_configured: isKeyConfigured,
          is_open: isOpen,
          open_until: isoOrNull(openUntilMs),
          waiting,
          waiting_limit: waitingLimit,
        },
        200,
      )
    },
  )

  api.openapi(
    route.post('/enrolment', 'Open the enrolment of devices', {
      description:
        'Lets devices register themselves with CARTBARN_ENROLMENT_KEY for the given minutes from now on; then ' +
        'enrolment is closed, even if it would have stayed open longer. For admins.',
      middleware: [adminOnly, jsonBody],
      request: { body: body(newEnrolmentSchema) },
      responses: answers(openedEnrolmentSchema, 'Enrolment is open.', 400, 403, 409, 413, 415),
    }),
    async (c) => {
      const { openUntilMs } = await enrolment.open(c.req.valid('json').minutes)
      return c.json({ open_until: isoOrNull(openUntilMs) }, 200)
    },
  )

  return api
}

function isoOrNull(atMs: number | null): string | null {
  return atMs === null ? null : toIso(atMs)
}
