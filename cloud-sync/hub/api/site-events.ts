import type { OpenAPIHono } from '@hono/zod-openapi'
import { requireSite, seesCodes } from '#hub/access.ts'
import type { Sql } from '#hub/store/database/database.ts'
import { registrationsOf } from '#hub/store/site-devices.ts'
import { listSiteEvents } from '#hub/store/site-events.ts'
import { paginationOf, requireOrder, requirePage } from '#shared/http/api-env.ts'
import { listRoute } from '#shared/http/list-route.ts'
import { answers } from '#shared/http/responses.ts'
import { maskCode } from '#shared/masked-codes.ts'
import { isOfRegistration, type Registration } from '#shared/registrations.ts'
import { toIso } from '#shared/time.ts'
import {
  type GeofenceEventJson,
  geofenceEventListSchema,
  geofenceEventQuerySchema,
} from '#shared/wire/geofence-events.ts'
import { type LockEventJson, lockEventListSchema, lockEventQuerySchema } from '#shared/wire/lock-events.ts'
import { GROUP_ID_OF_SITE } from '#shared/wire/replication/replicated.ts'
import type { ListOrder } from '#shared/wire/schema/params.ts'
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
    group_id: row.group_id === GROUP_ID_OF_SITE ? null : row.group_id,
    zone_id: row.zone_id,
    zone_name: row.zone_name,
    zone_type: row.zone_type,
    timestamp: toIso(Number(row.at_ms)),
    lat: row.lat,
    long: row.long,
  } as GeofenceEventJson // see above
}

function masked(row: Row): Row {
  return typeof row.code === 'string' ? { ...row, code: maskCode(row.code) } : row
}

interface EventsQuery {
  hardware_id?: string | undefined
  from?: number | undefined
  to?: number | undefined
  maskedCode?: string | undefined
  order: ListOrder
  before?: string | undefined
  limit: number
  offset: number
}

/** Lock and geofence events of sites. */
export function createSiteEventsApi(sql: Sql): OpenAPIHono<HubEnv> {
  const api = createHubPart()

  /** Throws for a range or an event `before` that cannot be. */
  async function list<Json>(
    siteId: string,
    stream: 'lock_events' | 'geofence_events',
    { hardware_id: hardwareId, from: fromMs, to: toMs, ...page }: EventsQuery,
    fields: Readonly<Record<string, string | number | undefined>>,
    toJson: (row: Row) => Json,
  ) {
    const registered = hardwareId === undefined ? undefined : await registrationsOf(sql, siteId, [hardwareId])
    const registration = registered?.get(hardwareId ?? '')
    const asked = { ...page, hardwareId, registration, fromMs, toMs, fields }
    const rows = requirePage(await listSiteEvents(sql, siteId, stream, asked))
    const now = await registrationsOf(
      sql,
      siteId,
      rows.map((row) => String(row.hardware_id)),
    )
    const events = rows.map((row) => ({ ...toJson(row), ...(isOfDevice(row, now) ? {} : REMOVED) }))
    return { events, pagination: paginationOf(page, rows) }
  }

  api.openapi(
    listRoute('/sites/{site}/lock-events', 'List lock events', {
      description: 'Includes the events of deleted devices.',
      request: { params: siteParams, query: lockEventQuerySchema },
      responses: answers(
        lockEventListSchema,
        'Events, newest first unless order says otherwise.',
        400,
        403,
        404,
      ),
    }),
    async (c) => {
      const { site } = c.req.valid('param')
      const { source, event, code, ...query } = c.req.valid('query')
      requireOrder(query.from, query.to)
      await requireSite(sql, c.var.user, site)
      const isMasked = !seesCodes(c.var.user)
      const asked = isMasked ? { ...query, maskedCode: code } : query
      const fields = { source, event, ...(isMasked ? {} : { code }) }
      const toJson = (row: Row) => toLockEventJson(isMasked ? masked(row) : row)
      return c.json(await list(site, 'lock_events', asked, fields, toJson), 200)
    },
  )

  api.openapi(
    listRoute('/sites/{site}/geofence-events', 'List geofence events', {
      description: 'The zones that carts entered and left.',
      request: { params: siteParams, query: geofenceEventQuerySchema },
      responses: answers(
        geofenceEventListSchema,
        'Events, newest first unless order says otherwise.',
        400,
        403,
        404,
      ),
    }),
    async (c) => {
      const { site } = c.req.valid('param')
      const { group_id, zone_id, zone_type, event, ...query } = c.req.valid('query')
      requireOrder(query.from, query.to)
      await requireSite(sql, c.var.user, site)
      const fields = { group_id, zone_id, zone_type, event }
      return c.json(await list(site, 'geofence_events', query, fields, toGeofenceEventJson), 200)
    },
  )

  return api
}

const REMOVED = { device_removed: true } as const

function isOfDevice(row: Row, registrations: Map<string, Registration>): boolean {
  const shortId = typeof row.short_id === 'string' ? row.short_id : null
  const now = registrations.get(String(row.hardware_id))
  return isOfRegistration(now, { shortId, atMs: Number(row.at_ms) })
}
