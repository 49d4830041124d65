import type { OpenAPIHono } from '@hono/zod-openapi'
import { requireSite } from '#hub/access.ts'
import type { Sql } from '#hub/store/database/database.ts'
import { listSiteEvents } from '#hub/store/site-events.ts'
import { requireOrder } from '#shared/http/api-env.ts'
import { answers } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import { toIso } from '#shared/time.ts'
import {
  type GeofenceEventJson,
  geofenceEventListSchema,
  geofenceEventQuerySchema,
} from '#shared/wire/geofence-events.ts'
import { type LockEventJson, lockEventListSchema, lockEventQuerySchema } from '#shared/wire/lock-events.ts'
import { siteParams } from '#shared/wire/sites.ts'
import { createHubPart, type HubEnv } from './env.ts'

type Row = Record<string, unknown>

// Rows fit their schemas when they are taken; words a later gateway adds go on as they are, as values may be added.
function toLockEventJson({
  event_id,
  hardware_id,
  event,
  at_ms,
  source,
  code,
  metadata,
}: Row): LockEventJson {
  return {
    event_id,
    hardware_id,
    event,
    timestamp: toIso(Number(at_ms)),
    source,
    ...(code === null || code === undefined ? {} : { code }),
    ...(metadata === null || metadata === undefined ? {} : { metadata }),
  } as LockEventJson // see above
}

function toGeofenceEventJson(row: Row): GeofenceEventJson {
  return {
    event_id: row.event_id,
    hardware_id: row.hardware_id,
    event: row.event,
    group_id: row.group_id,
    zone_id: row.zone_id,
    zone_name: row.zone_name,
    zone_type: row.zone_type,
    timestamp: toIso(Number(row.at_ms)),
    lat: row.lat,
    long: row.long,
  } as GeofenceEventJson // see above
}

/** Lock and geofence events of sites. */
export function createSiteEventsApi(sql: Sql): OpenAPIHono<HubEnv> {
  const api = createHubPart()

  api.openapi(
    route.get('/sites/{site}/lock-events', 'List lock events', {
      description: 'Includes the events of deleted devices.',
      request: { params: siteParams, query: lockEventQuerySchema },
      responses: answers(lockEventListSchema, 'Events, newest first.', 400, 403, 404),
    }),
    async (c) => {
      const { site } = c.req.valid('param')
      const { hardware_id, from, to, limit, offset, source, event, code } = c.req.valid('query')
      requireOrder(from, to)
      await requireSite(sql, c.var.user, site)
      const fields = { source, event, code }
      const page = { hardwareId: hardware_id, fromMs: from, toMs: to, fields, limit, offset }
      const events = (await listSiteEvents(sql, site, 'lock_events', page)).map(toLockEventJson)
      return c.json({ events, pagination: { limit, offset, returned: events.length } }, 200)
    },
  )

  api.openapi(
    route.get('/sites/{site}/geofence-events', 'List geofence events', {
      description: 'The zones that carts entered and left, newest first.',
      request: { params: siteParams, query: geofenceEventQuerySchema },
      responses: answers(geofenceEventListSchema, 'Events, newest first.', 400, 403, 404),
    }),
    async (c) => {
      const { site } = c.req.valid('param')
      const { hardware_id, from, to, limit, offset, ...fields } = c.req.valid('query')
      requireOrder(from, to)
      await requireSite(sql, c.var.user, site)
      const page = { hardwareId: hardware_id, fromMs: from, toMs: to, fields, limit, offset }
      const events = (await listSiteEvents(sql, site, 'geofence_events', page)).map(toGeofenceEventJson)
      return c.json({ events, pagination: { limit, offset, returned: events.length } }, 200)
    },
  )

  return api
}
