import { isDeepStrictEqual } from 'node:util'
import type { SessionChange } from '#domain/mqtt-sessions.ts'
import { toIso } from '#shared/time.ts'
import { write } from '../db/audit.ts'
import type { Connection } from '../db/connection.ts'
import { table } from '../db/table.ts'
import { applySessionChange } from './mqtt-sessions.ts'

export const zoneVersionTable = table('zone_version', {
  care: {
    what: 'the saved sets of site zones',
    meaning: 'Missing sets cannot be restored.',
  },
  erases: { texts: ['user_name'] },
})

export const zoneSetTable = table('zone_set', {
  care: {
    what: 'the zones of the site',
    isRemembered: true,
    meaning:
      'If they are missing, the last saved set is in force again, without overrides; carts keep their current ' +
      'zones until then.',
    afterLoss: [
      `INSERT OR IGNORE INTO zone_set (only, version, updated_at_ms, zones)
         SELECT 1, version + 1, at_ms, zones FROM zone_version ORDER BY version DESC LIMIT 1`,
    ],
  },
  json: {
    zones: { type: 'array', cure: { set: "zones = '[]', version = version + 1" } },
    switches: { type: 'object', cure: { set: "switches = '{}', version = version + 1" } },
  },
  replicated: {
    columns: ['version', 'zones', 'switches', 'updated_at_ms'],
    times: ['updated_at_ms'],
    key: "'site'",
    where: 't.only = 1 AND ? IS NOT NULL',
  },
  erases: { json: ['switches'] },
  noun: 'zones',
})

export interface ZoneSetRow {
  version: number
  zonesJson: string
  /** Temporary overrides of the zones. */
  switchesJson: string
}

/** Saved set of site zones that a user made. */
export interface ZoneVersionRow {
  version: number
  atMs: number
  userId: string
  userName: string
  /** Number of zones in the set. */
  count: number
}

/** Site zones to put in force. */
export interface ZonesInForce extends ZoneSetRow {
  atMs: number
  /** Each group, with the version under which its zones and those of the site are published. */
  groups: readonly { groupId: number; version: number }[]
  /** MQTT messages that publish the zones. */
  sessionChanges: readonly SessionChange[]
}

export interface ZoneSetChange extends ZonesInForce, ZoneVersionRow {
  /** Zones of the set without overrides. */
  keptJson: string
}

export interface ZoneSwitchChange extends ZonesInForce {
  switched: readonly { zoneId: string; wasEnabled: boolean; isEnabled: boolean; untilMs: number | null }[]
}

/** Number of stored sets, including the one in force. */
const VERSIONS_KEPT = 20

const VERSION_COLUMNS = `version, at_ms, user_id, user_name, zone_count AS "count"`

/** Null before the first set. */
export function zoneSet(connection: Connection): ZoneSetRow | null {
  return (
    connection.get<ZoneSetRow>('SELECT version, zones AS zonesJson, switches AS switchesJson FROM zone_set') ?? null
  )
}

/** Newest first. */
export function listZoneVersions(connection: Connection): ZoneVersionRow[] {
  return connection.all<ZoneVersionRow>(
    `SELECT ${VERSION_COLUMNS} FROM zone_version ORDER BY version DESC LIMIT ?`,
    VERSIONS_KEPT,
  )
}

export function zonesOfVersion(connection: Connection, version: number): string | null {
  const row = connection.get<{ zonesJson: string }>(
    'SELECT zones AS zonesJson FROM zone_version WHERE version = ?',
    version,
  )
  return row?.zonesJson ?? null
}

/** Puts a set of site zones in force, together with the messages that publish it. */
export const saveZoneSet = write(
  (connection: Connection, change: ZoneSetChange): null => {
    const { version, atMs, userId, userName, count, keptJson } = change
    connection.run(
      `INSERT OR REPLACE INTO zone_version (version, at_ms, user_id, user_name, zone_count, zones)
     VALUES (?, ?, ?, ?, ?, ?)`,
      version,
      atMs,
      userId,
      userName,
      count,
      keptJson,
    )
    connection.run(
      `DELETE FROM zone_version WHERE version NOT IN
       (SELECT version FROM zone_version ORDER BY version DESC LIMIT ?)`,
      VERSIONS_KEPT,
    )
    putInForce(connection, change)
    return null
  },
  {
    // only the changed zones: all of them may be megabytes
    audit: (connection, { version, zonesJson }) => {
      const stored = zoneSet(connection)
      const before: ZoneById = new Map(zonesIn(stored?.zonesJson ?? '[]'))
      const after: ZoneById = new Map(zonesIn(zonesJson))
      const ofThose = (zones: ZoneById, others: ZoneById) =>
        [...zones].flatMap(([id, zone]) => (isDeepStrictEqual(zone, others.get(id)) ? [] : [zone]))
      return () => [
        {
          action: 'zones.updated',
          target: 'site',
          before: { version: stored?.version ?? 0, zones: ofThose(before, after) },
          after: { version, zones: ofThose(after, before) },
        },
      ]
    },
  },
)

/** Puts site zones with changed overrides in force. They do not count as a set that a user made. */
export const saveZoneSwitches = write(
  (connection: Connection, change: ZoneSwitchChange): null => {
    putInForce(connection, change)
    return null
  },
  {
    audit:
      (_, { version, switched }) =>
      () => [
        {
          action: 'zones.switched',
          target: 'site',
          before: { zones: switched.map(({ zoneId, wasEnabled }) => ({ id: zoneId, enabled: wasEnabled })) },
          after: {
            version,
            zones: switched.map(({ zoneId, isEnabled, untilMs }) => ({
              id: zoneId,
              enabled: isEnabled,
              until: untilMs === null ? null : toIso(untilMs),
            })),
          },
        },
      ],
  },
)

function putInForce(connection: Connection, change: ZonesInForce): void {
  const { version, atMs, zonesJson, switchesJson, groups, sessionChanges } = change
  connection.run(
    `INSERT INTO zone_set (only, version, updated_at_ms, zones, switches) VALUES (1, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET version = excluded.version, updated_at_ms = excluded.updated_at_ms,
       zones = excluded.zones, switches = excluded.switches`,
    version,
    atMs,
    zonesJson,
    switchesJson,
  )
  for (const group of groups) {
    connection.run(
      `INSERT INTO geofence_set (group_id, version, zones, updated_at_ms, site_version, site_since)
       VALUES (?, ?, '[]', ?, ?, ?)
       ON CONFLICT DO UPDATE SET site_version = excluded.site_version,
         site_since = iif(version = excluded.version, site_since, excluded.version),
         updated_at_ms = iif(version = excluded.version, updated_at_ms, excluded.updated_at_ms),
         version = excluded.version`,
      group.groupId,
      group.version,
      atMs,
      version,
      group.version,
    )
  }
  for (const sessionChange of sessionChanges) applySessionChange(connection, sessionChange)
}

type ZoneById = Map<string, { id: string }>

function zonesIn(json: string): [string, { id: string }][] {
  // written by this program only
  const zones: { id: string }[] = JSON.parse(json)
  return zones.map((zone) => [zone.id, zone])
}
