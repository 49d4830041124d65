import type { OpenAPIHono } from '@hono/zod-openapi'
import { visibleHardwareIds } from '#domain/access.ts'
import { requireOrder } from '#shared/http/api-env.ts'
import { answers } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import { toIso } from '#shared/time.ts'
import { type LockEventJson, lockEventListSchema, lockEventQuerySchema } from '#shared/wire/lock-events.ts'
import type { LockEventRow } from '#store/lock-events.ts'
import { type ApiEnv, createApi } from './api-env.ts'
import type { ApiDeps } from './deps.ts'

function toLockEventJson(row: LockEventRow): LockEventJson {
  return {
    event_id: row.eventId,
    hardware_id: row.hardwareId,
    event: row.event,
    timestamp: toIso(row.atMs),
    source: row.source,
    ...(row.code === null ? {} : { code: row.code }),
    ...(row.metadataJson === null ? {} : { metadata: JSON.parse(row.metadataJson) }),
  }
}

/** `/lock-events`: which device was locked or unlocked, when, and by which tag, code or command. */
export function createLockEventsApi({ store }: ApiDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()

  api.openapi(
    route.get('/lock-events', 'List lock events', {
      description: 'Includes events of devices that have been deleted; leaves out devices outside the scope.',
      request: { query: lockEventQuerySchema },
      responses: answers(lockEventListSchema, 'Events of devices in scope, newest first.', 400),
    }),
    (c) => {
      const { hardware_id, from, to, limit, offset, ...rest } = c.req.valid('query')
      requireOrder(from, to)
      const { caller } = c.var.user
      const rows = store.read.lockEvents({
        ...rest,
        hardwareId: hardware_id,
        visibleHardwareIds: visibleHardwareIds(caller),
        fromMs: from,
        toMs: to,
        limit,
        offset,
      })
      const pagination = { limit, offset, returned: rows.length }
      return c.json({ events: rows.map(toLockEventJson), pagination }, 200)
    },
  )

  return api
}
