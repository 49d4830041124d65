import type { OpenAPIHono } from '@hono/zod-openapi'
import { visibleHardwareIds } from '#domain/access.ts'
import { fromE7 } from '#shared/geo.ts'
import { requireOrder } from '#shared/http/api-env.ts'
import { answers } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import { toIso } from '#shared/time.ts'
import {
  type GeofenceEventJson,
  geofenceEventListSchema,
  geofenceEventQuerySchema,
} from '#shared/wire/geofence-events.ts'
import type { GeofenceEventRow } from '#store/geofence-events.ts'
import { type ApiEnv, createApi } from './api-env.ts'
import type { ApiDeps } from './deps.ts'

function toGeofenceEventJson(row: GeofenceEventRow): GeofenceEventJson {
  return {
    event_id: row.eventId,
    hardware_id: row.hardwareId,
    event: row.event,
    group_id: row.groupId,
    zone_id: row.zoneId,
    zone_name: row.zoneName,
    zone_type: row.zoneType,
    timestamp: toIso(row.atMs),
    lat: fromE7(row.latE7),
    long: fromE7(row.longE7),
  }
}

/** `/geofence-events`: which device entered and left which zone, and when. */
export function createGeofenceEventsApi({ store }: ApiDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()

  api.openapi(
    route.get('/geofence-events', 'List geofence events', {
      description: 'Zones that the devices in scope entered and left, newest first.',
      request: { query: geofenceEventQuerySchema },
      responses: answers(geofenceEventListSchema, 'Events of devices in scope, newest first.', 400),
    }),
    (c) => {
      const { hardware_id, group_id, zone_id, zone_type, event, from, to, limit, offset } =
        c.req.valid('query')
      requireOrder(from, to)
      const { caller } = c.var.user
      const rows = store.read.geofenceEvents({
        hardwareId: hardware_id,
        visibleHardwareIds: visibleHardwareIds(caller),
        groupId: group_id,
        zoneId: zone_id,
        zoneType: zone_type,
        event,
        fromMs: from,
        toMs: to,
        limit,
        offset,
      })
      const pagination = { limit, offset, returned: rows.length }
      return c.json({ events: rows.map(toGeofenceEventJson), pagination }, 200)
    },
  )

  return api
}
