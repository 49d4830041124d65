import { isDeepStrictEqual } from 'node:util'
import type Database from 'better-sqlite3'
import { ENTITY_TABLES } from '#shared/wire/replication/replicated.ts'
import type { SyncFindings } from './findings.ts'
import type { HubSite } from './telemetry-check.ts'

type Row = Record<string, unknown>

interface HubRow {
  key: string
  body: string
}

interface Compared {
  /** Query of the gateway's rows, with the key at the hub as `key`. */
  sql: string
  /** Columns that are not replicated. */
  hidden: readonly string[]
  /** Column that is not sent if it is null. */
  leftOut?: string
}

const ENTITIES: Record<(typeof ENTITY_TABLES)[number], Compared> = {
  device: {
    sql: 'SELECT *, hardware_id AS key FROM device',
    hidden: ['mqtt_password_hash', 'is_on_shared_key', 'other_group_ack_ms'],
  },
  device_group: { sql: 'SELECT *, CAST(group_id AS TEXT) AS key FROM device_group', hidden: [] },
  device_type: { sql: 'SELECT *, name AS key FROM device_type', hidden: [] },
  group_config: { sql: `SELECT *, group_id || '/' || device_type AS key FROM group_config`, hidden: [] },
  device_config: {
    sql: `SELECT device_config.*, hardware_id, hardware_id AS key FROM device_config JOIN device USING (device_id)`,
    hidden: ['device_id'],
  },
  geofence_set: {
    sql: 'SELECT *, CAST(group_id AS TEXT) AS key FROM geofence_set',
    hidden: ['site_version', 'site_since'],
  },
  zone_set: { sql: `SELECT *, 'site' AS key FROM zone_set`, hidden: ['only'] },
  user: {
    sql: 'SELECT *, user_id AS key FROM user',
    hidden: [
      'key_hash',
      'pin_hash',
      'updated_at_ms',
      'total_requests',
      'requests_today',
      'last_reset_ms',
      'first_used_at_ms',
      'last_used_at_ms',
    ],
  },
  command: {
    // not sent if nothing was forced
    sql: `SELECT *, command_id AS key, iif(forced IS NULL, NULL, 1) AS forced FROM command`,
    hidden: ['seq'],
    leftOut: 'forced',
  },
  site: { sql: `SELECT *, 'site' AS key FROM site`, hidden: ['only'] },
  course: {
    sql: `SELECT version, attribution, features AS sent, drawing, updated_at_ms, 'site' AS key,
      (SELECT json_object('hash', hash, 'bytes', bytes, 'content_type', content_type, 'corners', json(corners),
      'pieces',
        (SELECT count(*) FROM course_piece piece WHERE piece.hash = course_photo.hash)) FROM course_photo) AS photo
        FROM course`,
    hidden: [],
  },
  course_piece: { sql: `SELECT *, printf('%s/%04d', hash, number) AS key FROM course_piece`, hidden: [] },
  alert: {
    sql: 'SELECT *, alert_id AS key FROM alert',
    hidden: ['seq', 'subject', 'awaits_end', 'lat_e7', 'long_e7'],
  },
  cart_note: { sql: 'SELECT *, cart AS key FROM cart_note', hidden: [] },
  party: { sql: 'SELECT *, party_id AS key FROM party', hidden: ['names'] },
  service_entry: { sql: 'SELECT *, entry_id AS key FROM service_entry', hidden: [] },
  service_plan: { sql: 'SELECT *, plan_id AS key FROM service_plan', hidden: [] },
  audit_entry: { sql: 'SELECT *, entry_id AS key FROM audit_entry', hidden: ['seq'] },
}

const EVENTS: Record<string, Compared> = {
  notes: { sql: 'SELECT *, note_id AS key FROM note', hidden: ['seq'] },
  lock_events: { sql: 'SELECT *, event_id AS key FROM lock_event', hidden: ['seq', 'identity'] },
  geofence_events: {
    sql: `SELECT *, event_id AS key, lat_e7 / 1e7 AS lat, long_e7 / 1e7 AS long FROM geofence_event`,
    hidden: ['seq', 'lat_e7', 'long_e7'],
  },
}

/** Compares rows of events, notes and entities; a restored `gateway` (its database) lacks events, a hub loses none. */
export async function checkRows(
  { sql, siteId }: HubSite,
  gateway: Database.Database,
  isRestored: boolean,
  findings: SyncFindings,
): Promise<void> {
  for (const [stream, compared] of Object.entries(EVENTS)) {
    const rows = await sql.all<HubRow>('SELECT event_id AS key, body FROM event WHERE site_id = $1 AND stream = $2', [
      siteId,
      stream,
    ])
    findings.compared.rows += rows.length
    const note = (key: string) => findings.note('events', `${stream} ${key}`)
    compare(gateway, compared, rows, note, isRestored)
  }
  for (const table of ENTITY_TABLES) {
    const isKept = table === 'audit_entry'
    const rows = isKept
      ? await sql.all<HubRow>('SELECT entry_id AS key, body FROM audit_entry WHERE site_id = $1', [siteId])
      : await sql.all<HubRow>(
          `SELECT entity_key AS key, body FROM entity
           WHERE site_id = $1 AND entity_table = $2 AND body IS NOT NULL`,
          [siteId, table],
        )
    findings.compared.rows += rows.length
    const note = (key: string) => findings.note('entities', `${table} ${key}`)
    compare(gateway, ENTITIES[table], rows, note, isKept && isRestored)
  }
}

function compare(
  gateway: Database.Database,
  { sql, hidden, leftOut }: Compared,
  rows: readonly HubRow[],
  onDifferent: (key: string) => void,
  mayBeMore = false,
): void {
  const there = new Map(rows.map(({ key, body }) => [key, body]))
  for (const row of gateway.prepare<[], Row & { key: string }>(sql).iterate()) {
    const { key, ...columns } = row
    for (const name of hidden) delete columns[name]
    if (leftOut !== undefined && columns[leftOut] === null) delete columns[leftOut]
    const body = there.get(key)
    there.delete(key)
    if (body === undefined) onDifferent(`${key}: not at the hub`)
    else if (!isSame(columns, JSON.parse(body))) onDifferent(`${key}: ${body} for ${JSON.stringify(columns)}`)
  }
  if (!mayBeMore) for (const key of there.keys()) onDifferent(`${key}: not at the gateway`)
}

function isSame(columns: Row, body: Row): boolean {
  const names = Object.keys(columns)
  return names.length === Object.keys(body).length && names.every((name) => isAsSent(columns[name], body[name]))
}

/** Compares in spite of types: SQLite has neither booleans nor JSON, and JSON no bytes. */
function isAsSent(stored: unknown, sent: unknown): boolean {
  if (stored instanceof Uint8Array) return Buffer.from(stored).toString('base64') === sent
  if (typeof sent === 'boolean') return stored === Number(sent)
  if (typeof stored === 'string' && typeof sent !== 'string') return isDeepStrictEqual(JSON.parse(stored), sent)
  return stored === sent
}
