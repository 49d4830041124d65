import { canSeeCodes } from '#hub/access.ts'
import type { Sql } from '#hub/store/database/database.ts'
import { registrationsOf } from '#hub/store/site-devices.ts'
import { listSiteEvents } from '#hub/store/site-events.ts'
import { paginationOf, requirePage } from '#shared/http/api-env.ts'
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
import { siteList } from './site-noun.ts'

type Row = Record<string, unknown>

// Rows are validated on arrival; values added by a later gateway are passed on unchanged: the API may gain values.
function toLockEventJson({ event_id, hardware_id, event, at_ms, source, code, metadata }: Row): LockEventJson {
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

/** Throws for an impossible range or an unknown event `before`. */
async function listEvents<Json>(
  { sql, site }: { sql: Sql; site: string },
  stream: 'lock_events' | 'geofence_events',
  { hardware_id: hardwareId, from: fromMs, to: toMs, ...page }: EventsQuery,
  fields: Readonly<Record<string, string | number | undefined>>,
  toJson: (row: Row) => Json,
) {
  const registered = hardwareId === undefined ? undefined : await registrationsOf(sql, site, [hardwareId])
  const registration = registered?.get(hardwareId ?? '')
  const asked = { ...page, hardwareId, registration, fromMs, toMs, fields }
  const rows = requirePage(await listSiteEvents(sql, site, stream, asked))
  const ids = rows.map((row) => String(row.hardware_id))
  const now = await registrationsOf(sql, site, ids)
  const events = rows.map((row) => ({ ...toJson(row), ...(isOfDevice(row, now) ? {} : REMOVED) }))
  return { events, pagination: paginationOf(page, rows) }
}

export const SITE_LOCK_EVENTS = siteList({
  path: '/sites/{site}/lock-events',
  summary: 'List lock events',
  description: 'Includes the events of deleted devices.',
  query: lockEventQuerySchema,
  schema: lockEventListSchema,
  answer: 'Events, newest first by default.',
  read: ({ source, event, code, ...query }, of) => {
    const isMasked = !canSeeCodes(of.user)
    const asked = isMasked ? { ...query, maskedCode: code } : query
    const fields = { source, event, ...(isMasked ? {} : { code }) }
    return listEvents(of, 'lock_events', asked, fields, (row) => toLockEventJson(isMasked ? masked(row) : row))
  },
})

/** Zones that carts entered and left. */
export const SITE_GEOFENCE_EVENTS = siteList({
  path: '/sites/{site}/geofence-events',
  summary: 'List geofence events',
  description: 'The zones that carts entered and left.',
  query: geofenceEventQuerySchema,
  schema: geofenceEventListSchema,
  answer: 'Events, newest first by default.',
  read: ({ group_id, zone_id, zone_type, event, ...query }, of) => {
    const fields = { group_id, zone_id, zone_type, event }
    return listEvents(of, 'geofence_events', query, fields, toGeofenceEventJson)
  },
})

const REMOVED = { device_removed: true } as const

function isOfDevice(row: Row, registrations: Map<string, Registration>): boolean {
  const shortId = typeof row.short_id === 'string' ? row.short_id : null
  const now = registrations.get(String(row.hardware_id))
  return isOfRegistration(now, { shortId, atMs: Number(row.at_ms) })
}
