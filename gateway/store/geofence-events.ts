import type { GeofenceEventKind } from '#shared/wire/geofence-events.ts'
import type { ZoneType } from '#shared/zones/zone.ts'
import type { Connection } from './db/connection.ts'

/** A device entered or left a zone; group, name and type of the zone are what they were then. */
export interface GeofenceEventRow {
  eventId: string
  hardwareId: string
  event: GeofenceEventKind
  groupId: number
  zoneId: string
  zoneName: string
  zoneType: ZoneType
  atMs: number
  latE7: number
  longE7: number
}

/** What to list; absent fields do not filter. */
export interface GeofenceEventQuery {
  hardwareId?: string | undefined
  /** The devices the caller may see; undefined is all. */
  visibleHardwareIds?: readonly string[] | undefined
  groupId?: number | undefined
  zoneId?: string | undefined
  zoneType?: ZoneType | undefined
  event?: GeofenceEventKind | undefined
  fromMs?: number | undefined
  toMs?: number | undefined
  limit: number
  offset: number
}

/** An event that is there already is left as it is; the caller has the transaction. */
export function insertGeofenceEvent(connection: Connection, row: GeofenceEventRow): void {
  connection.run(
    `INSERT OR IGNORE INTO geofence_event
     (event_id, hardware_id, event, group_id, zone_id, zone_name, zone_type, at_ms, lat_e7, long_e7)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ...[row.eventId, row.hardwareId, row.event, row.groupId, row.zoneId, row.zoneName, row.zoneType],
    ...[row.atMs, row.latE7, row.longE7],
  )
}

/** Newest first; of equal times the later stored first. */
export function listGeofenceEvents(connection: Connection, query: GeofenceEventQuery): GeofenceEventRow[] {
  const visible = query.visibleHardwareIds
  // most selective first: without statistics SQLite takes any index that fits, and the + keeps it from the others
  const equals: [column: string, value: string | number | undefined][] = [
    ['hardware_id', query.hardwareId],
    ['zone_id', query.zoneId],
    ['group_id', query.groupId],
    ['zone_type', query.zoneType],
  ]
  const conditions: [sql: string, value: string | number | undefined][] = [
    ...equals
      .filter(([, value]) => value !== undefined)
      .map(([column, value], i): [string, string | number | undefined] => [
        `${i === 0 ? '' : '+'}${column} = ?`,
        value,
      ]),
    [
      'hardware_id IN (SELECT value FROM json_each(?))',
      visible === undefined ? undefined : JSON.stringify(visible),
    ],
    ['event = ?', query.event],
    ['at_ms >= ?', query.fromMs],
    ['at_ms <= ?', query.toMs],
  ]
  const used = conditions.filter(
    (condition): condition is [string, string | number] => condition[1] !== undefined,
  )
  const where = used.length === 0 ? '' : `WHERE ${used.map(([sql]) => sql).join(' AND ')}`
  return connection.all<GeofenceEventRow>(
    `SELECT event_id AS eventId, hardware_id AS hardwareId, event, group_id AS groupId, zone_id AS zoneId,
       zone_name AS zoneName, zone_type AS zoneType, at_ms AS atMs, lat_e7 AS latE7, long_e7 AS longE7
     FROM geofence_event ${where} ORDER BY at_ms DESC, seq DESC LIMIT ? OFFSET ?`,
    ...used.map(([, value]) => value),
    query.limit,
    query.offset,
  )
}
