import type { OpenAPIHono } from '@hono/zod-openapi'
import { visibleHardwareIds } from '#domain/access.ts'
import type { Fleet } from '#services/fleet.ts'
import { fromE7 } from '#shared/geo.ts'
import { paginationOf, requireOrder, requirePage } from '#shared/http/api-env.ts'
import { listRoute } from '#shared/http/list-route.ts'
import { answers } from '#shared/http/responses.ts'
import { isOfRegistration } from '#shared/registrations.ts'
import { toIso } from '#shared/time.ts'
import {
  type GeofenceEventJson,
  geofenceEventListSchema,
  geofenceEventQuerySchema,
} from '#shared/wire/geofence-events.ts'
import type { GeofenceEventRow } from '#store/tables/geofence-events.ts'
import { type ApiEnv, createApi, listerOf } from './api-env.ts'
import type { DevicesDeps, RecordsDeps } from './deps.ts'

function toGeofenceEventJson(row: GeofenceEventRow, fleet: Fleet): GeofenceEventJson {
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
    ...(isOfRegistration(fleet.registrationOf(row.hardwareId), row) ? {} : { device_removed: true }),
  }
}

/** `/geofence-events`: entries and exits of zones by devices, with their times. */
export function createGeofenceEventsApi({ store, fleet }: DevicesDeps & RecordsDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()

  api.openapi(
    listRoute('/geofence-events', 'List geofence events', {
      description: 'Zones that the devices in scope entered and left.',
      request: { query: geofenceEventQuerySchema },
      responses: answers(geofenceEventListSchema, 'Events of devices in scope, newest first by default.', 400),
    }),
    async (c) => {
      const { hardware_id, group_id, zone_id, zone_type, from, to, ...query } = c.req.valid('query')
      requireOrder(from, to)
      const registration = hardware_id === undefined ? undefined : fleet.registrationOf(hardware_id)
      const range = {
        hardwareId: hardware_id,
        registration,
        fromMs: from,
        toMs: to,
        visibleHardwareIds: visibleHardwareIds(c.var.user.caller),
      }
      const zone = { groupId: group_id, zoneId: zone_id, zoneType: zone_type }
      const found = await store.readers.run(
        'geofenceEvents',
        { ...query, ...range, ...zone },
        listerOf(c, query.offset > 0 || zone_id !== undefined || zone_type !== undefined),
      )
      const rows = requirePage(found)
      return c.json(
        { events: rows.map((row) => toGeofenceEventJson(row, fleet)), pagination: paginationOf(query, rows) },
        200,
      )
    },
  )

  return api
}
