import type { OpenAPIHono } from '@hono/zod-openapi'
import { jsonBody } from '#shared/http/request-guards.ts'
import { answers, body } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import { erasureSchema, newErasureSchema } from '#shared/wire/erasures.ts'
import { type ApiEnv, adminOnly, createApi } from './api-env.ts'
import type { RecordsDeps } from './deps.ts'

/** `/erasures`: removes all data of a person or a code. For admins. */
export function createErasuresApi({ erasures }: RecordsDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()

  api.openapi(
    route.post('/erasures', 'Erase a person or a code', {
      description:
        'Blanks a name or a code in lock events, commands and the audit log, here and at the hub. Repeating ' +
        'the request finishes an interrupted erasure.',
      middleware: [adminOnly, jsonBody],
      request: { body: body(newErasureSchema) },
      responses: answers(erasureSchema, 'Number of blanked values.', 400, 403, 413, 415),
    }),
    async (c) => {
      const { person, code } = c.req.valid('json')
      const subject = code !== undefined ? { code } : { person: person ?? '' }
      const { lockEvents, commands, metadata, other } = await erasures.erase(subject)
      return c.json({ lock_events: lockEvents, commands, metadata, other }, 200)
    },
  )

  return api
}
