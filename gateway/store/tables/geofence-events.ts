import type { Registration } from '#shared/registrations.ts'
import type { GeofenceEventKind } from '#shared/wire/geofence-events.ts'
import { GROUP_ID_OF_SITE } from '#shared/wire/replication/replicated.ts'
import type { ZoneType } from '#shared/zones/zone.ts'
import type { Connection } from '../db/connection.ts'
import { byRegistration, type ListCondition, type ListedTable, type ListPage, listPage } from '../db/list-page.ts'
import { table } from '../db/table.ts'
import type { ReaderTools } from '../telemetry/reader-tools.ts'

export const geofenceEventTable = table('geofence_event', {
  care: {
    what: 'the zone events',
    size: 'large',
    meaning: 'Missing zone events are not listed.',
  },
})

/** Zone entry or exit of a device; group, name and type of the zone are those at the time of the event. */
export interface GeofenceEventRow {
  eventId: string
  hardwareId: string
  /** Registration that the event belongs to; null in rows from before this column existed. */
  shortId: string | null
  event: GeofenceEventKind
  /** Null for a zone of the site. */
  groupId: number | null
  zoneId: string
  zoneName: string
  zoneType: ZoneType
  atMs: number
  latE7: number
  longE7: number
}

export interface GeofenceEventQuery extends ListPage {
  hardwareId?: string | undefined
  registration?: Registration | undefined
  groupId?: number | undefined
  zoneId?: string | undefined
  zoneType?: ZoneType | undefined
  event?: GeofenceEventKind | undefined
  fromMs?: number | undefined
  toMs?: number | undefined
}

const GEOFENCE_EVENTS: ListedTable = {
  table: 'geofence_event',
  id: 'event_id',
  place: ['at_ms', 'seq'],
  columns: `event_id, hardware_id, short_id, event,
    nullif(group_id, ${GROUP_ID_OF_SITE}) AS groupId, zone_id,
    zone_name, zone_type, at_ms, lat_e7, long_e7`,
}

/** Does nothing if the event exists already; the caller holds the transaction. */
export function insertGeofenceEvent(connection: Connection, row: GeofenceEventRow): void {
  connection.run(
    `INSERT OR IGNORE INTO geofence_event
     (event_id, hardware_id, short_id, event, group_id, zone_id, zone_name, zone_type, at_ms, lat_e7, long_e7)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    row.eventId,
    row.hardwareId,
    row.shortId,
    row.event,
    row.groupId ?? GROUP_ID_OF_SITE,
    row.zoneId,
    row.zoneName,
    row.zoneType,
    row.atMs,
    row.latE7,
    row.longE7,
  )
}

/** Events by time; events of equal times in insertion order. Null if `before` is unknown. */
export function listGeofenceEvents(
  { connection }: Pick<ReaderTools, 'connection'>,
  query: GeofenceEventQuery,
): GeofenceEventRow[] | null {
  const conditions: ListCondition[] = [
    ['hardware_id = ?', query.hardwareId],
    ['zone_id = ?', query.zoneId],
    ['group_id = ?', query.groupId],
    ['zone_type = ?', query.zoneType],
    byRegistration(query.registration),
    ['event = ?', query.event],
    ['at_ms >= ?', query.fromMs],
    ['at_ms <= ?', query.toMs],
  ]
  return listPage<GeofenceEventRow>(connection, GEOFENCE_EVENTS, conditions, query)
}
