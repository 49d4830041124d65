import type { OpenAPIHono } from '@hono/zod-openapi'
import { canSeeCodes, visibleHardwareIds } from '#domain/access.ts'
import type { Fleet } from '#services/fleet.ts'
import { paginationOf, requireOrder, requirePage } from '#shared/http/api-env.ts'
import { listRoute } from '#shared/http/list-route.ts'
import { answers } from '#shared/http/responses.ts'
import { maskCode } from '#shared/masked-codes.ts'
import { isOfRegistration } from '#shared/registrations.ts'
import { toIso } from '#shared/time.ts'
import { type LockEventJson, lockEventListSchema, lockEventQuerySchema } from '#shared/wire/lock-events.ts'
import type { LockEventRow } from '#store/tables/lock-events.ts'
import { type ApiEnv, createApi, listerOf } from './api-env.ts'
import type { DevicesDeps, RecordsDeps } from './deps.ts'

function toLockEventJson(row: LockEventRow, fleet: Fleet, masksCodes: boolean): LockEventJson {
  return {
    event_id: row.eventId,
    hardware_id: row.hardwareId,
    event: row.event,
    timestamp: toIso(row.atMs),
    source: row.source,
    ...(row.code === null ? {} : { code: masksCodes ? maskCode(row.code) : row.code }),
    ...(row.metadataJson === null ? {} : { metadata: JSON.parse(row.metadataJson) }),
    ...(isOfRegistration(fleet.registrationOf(row.hardwareId), row) ? {} : { device_removed: true }),
  }
}

/** `/lock-events`: locks and unlocks of devices, with time and the tag, code or command used. */
export function createLockEventsApi({ store, fleet }: DevicesDeps & RecordsDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()

  api.openapi(
    listRoute('/lock-events', 'List lock events', {
      description: 'Includes events of devices that have been deleted; leaves out devices outside the scope.',
      request: { query: lockEventQuerySchema },
      responses: answers(lockEventListSchema, 'Events of devices in scope, newest first by default.', 400),
    }),
    async (c) => {
      const { hardware_id, from, to, ...query } = c.req.valid('query')
      requireOrder(from, to)
      const registration = hardware_id === undefined ? undefined : fleet.registrationOf(hardware_id)
      const range = { hardwareId: hardware_id, registration, fromMs: from, toMs: to }
      const { caller } = c.var.user
      const masksCodes = !canSeeCodes(caller)
      const found = await store.readers.run(
        'lockEvents',
        { ...query, ...range, masksCodes, visibleHardwareIds: visibleHardwareIds(caller) },
        listerOf(c, query.offset > 0 || query.source !== undefined || query.code !== undefined),
      )
      const rows = requirePage(found)
      const events = rows.map((row) => toLockEventJson(row, fleet, masksCodes))
      return c.json({ events, pagination: paginationOf(query, rows) }, 200)
    },
  )

  return api
}
