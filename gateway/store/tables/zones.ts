import { isDeepStrictEqual } from 'node:util'
import type { SessionChange } from '#domain/mqtt-sessions.ts'
import { toIso } from '#shared/time.ts'
import { write } from '../db/audit.ts'
import type { Connection } from '../db/connection.ts'
import { table } from '../db/table.ts'
import { applySessionChange } from './mqtt-sessions.ts'

export const zoneVersionTable = table('zone_version', {
  care: {
    what: 'the last sets of zones of the site',
    meaning: 'Sets that are missing cannot be put in force again.',
  },
  erases: { texts: ['user_name'] },
})

export const zoneSetTable = table('zone_set', {
  care: {
    what: 'the zones of the site',
    isRemembered: true,
    meaning:
      'If they are missing, the last set that people made is in force again, with nothing switched; carts keep ' +
      'what they have until then.',
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

/** The zones of the site as they are kept. */
export interface ZoneSetRow {
  version: number
  zonesJson: string
  /** What of them is for a while. */
  switchesJson: string
}

/** A set of zones of the site that people made. */
export interface ZoneVersionRow {
  version: number
  atMs: number
  userId: string
  userName: string
  /** Zones in it. */
  count: number
}

/** Zones of the site that are put in force. */
export interface ZonesInForce extends ZoneSetRow {
  atMs: number
  /** Each group, and the version under which its zones and those of the site are published. */
  groups: readonly { groupId: number; version: number }[]
  /** The messages that tell of it. */
  sessionChanges: readonly SessionChange[]
}

/** A new set of zones of the site. */
export interface ZoneSetChange extends ZonesInForce, ZoneVersionRow {
  /** The zones as they are kept: without switches. */
  keptJson: string
}

/** Zones of the site that are switched, or not any more. */
export interface ZoneSwitchChange extends ZonesInForce {
  switched: readonly { zoneId: string; wasEnabled: boolean; isEnabled: boolean; untilMs: number | null }[]
}

/** So many sets are kept, that in force included. */
const VERSIONS_KEPT = 20

const VERSION_COLUMNS = `version, at_ms, user_id, user_name, zone_count AS "count"`

/** Null while there never were any. */
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

/** The zones of a version that is kept. */
export function zonesOfVersion(connection: Connection, version: number): string | null {
  const row = connection.get<{ zonesJson: string }>(
    'SELECT zones AS zonesJson FROM zone_version WHERE version = ?',
    version,
  )
  return row?.zonesJson ?? null
}

/** Puts a set of zones of the site in force, together with the messages that tell of it. */
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
    // the zones that are others now: of all there may be megabytes
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

/** Puts zones of the site in force that are switched, or not any more. They are no set that people made. */
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
