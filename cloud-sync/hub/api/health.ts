import type { OpenAPIHono } from '@hono/zod-openapi'
import { z } from 'zod'
import { json } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import { toIso } from '#shared/time.ts'
import { isoSchema } from '#shared/wire/schema/params.ts'
import type { PeopleApiDeps } from './deps.ts'
import { createHubPart, type HubEnv } from './env.ts'

const hubHealthSchema = z
  .object({
    status: z.enum(['ok', 'error']).meta({ description: 'error: the database does not respond or accepts no writes.' }),
    timestamp: isoSchema,
  })
  .meta({ id: 'HubHealth' })

/** `/health` needs no key; it is mounted before authentication. */
export function createHealthApi({ database, clock }: PeopleApiDeps): OpenAPIHono<HubEnv> {
  const api = createHubPart()
  api.openapi(
    route.get('/health', 'Ask whether all is well', {
      description: 'Needs no key and ignores a wrong one, so that a probe is never locked out.',
      responses: {
        200: json(hubHealthSchema, 'The hub is running and its database accepts writes.'),
        503: json(hubHealthSchema, 'The database does not answer, or takes no writes, as a standby.'),
      },
    }),
    async (c) => {
      const timestamp = toIso(clock.nowMs())
      try {
        await database.requireWritable()
        return c.json({ status: 'ok' as const, timestamp }, 200)
      } catch {
        return c.json({ status: 'error' as const, timestamp }, 503)
      }
    },
  )
  return api
}
