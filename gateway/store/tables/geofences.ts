import { isDeepStrictEqual } from 'node:util'
import type { SessionChange } from '#domain/mqtt-sessions.ts'
import { changed, write } from '../db/audit.ts'
import type { Connection } from '../db/connection.ts'
import { bodyOfKey, table } from '../db/table.ts'
import { applySessionChange } from './mqtt-sessions.ts'

export const geofenceSetTable = table('geofence_set', {
  care: {
    what: 'the zones',
    isRemembered: true,
    meaning: 'Missing zones must be drawn again; carts keep their current zones until then.',
  },
  json: {
    zones: { type: 'array', cure: { set: "zones = '[]', version = version + 1" } },
  },
  replicated: {
    columns: ['group_id', 'version', 'zones', 'updated_at_ms'],
    times: ['updated_at_ms'],
    key: 'CAST(t.group_id AS TEXT)',
    where: 't.group_id = ?',
    valuesOf: (key) => [Number(key)],
  },
  noun: 'zones',
})

export interface GeofenceSetRow {
  groupId: number
  version: number
  /** Version of the site zones it was published with; 0 for none. */
  siteVersion: number
  /** Version under which those were published first. */
  siteSince: number
  zonesJson: string
  updatedAtMs: number
}

export interface GeofenceSetChange extends GeofenceSetRow {
  /** MQTT messages that publish the change. */
  sessionChanges: readonly SessionChange[]
}

export function listGeofenceSets(connection: Connection): GeofenceSetRow[] {
  return connection.all<GeofenceSetRow>(
    `SELECT group_id, version, site_version, ifnull(site_since, version) AS siteSince,
       zones AS zonesJson, updated_at_ms
     FROM geofence_set ORDER BY group_id`,
  )
}

/** Retained messages with the zones of groups, which the broker sends to new subscribers. */
export function listZoneMessages(connection: Connection): { topic: string; payload: Uint8Array | string }[] {
  return connection.all("SELECT topic, payload FROM mqtt_retained WHERE topic GLOB 'sit/*/sz' ORDER BY topic")
}

/** Replaces the zones of a group, together with the messages that publish them. */
export const saveGeofenceSet = write(
  (connection: Connection, change: GeofenceSetChange): null => {
    const { groupId, version, siteVersion, siteSince, zonesJson, updatedAtMs, sessionChanges } = change
    connection.run(
      `INSERT OR REPLACE INTO geofence_set (group_id, version, zones, updated_at_ms, site_version, site_since)
     VALUES (?, ?, ?, ?, ?, ?)`,
      groupId,
      version,
      zonesJson,
      updatedAtMs,
      siteVersion,
      siteSince,
    )
    for (const sessionChange of sessionChanges) applySessionChange(connection, sessionChange)
    return null
  },
  {
    audit: (connection, input, origin) => {
      // published again, or for the first time in a group without zones of its own
      const known = bodyOfKey(connection, geofenceSetTable, String(input.groupId))
      if (isDeepStrictEqual(known?.zones ?? [], JSON.parse(input.zonesJson))) return () => []
      return changed<typeof input>(geofenceSetTable, ({ groupId }) => String(groupId))(connection, input, origin)
    },
  },
)
