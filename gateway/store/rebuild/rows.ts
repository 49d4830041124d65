import { toE7 } from '#shared/geo.ts'
import { courseBodySchema } from '#shared/wire/course.ts'
import type { RebuildEntity } from '#shared/wire/replication/rebuild.ts'
import type { Connection, Value } from '../db/connection.ts'
import { STREAM_TABLES } from '../ledger/streams.ts'

type Row = Record<string, unknown>

/** Hash that no key or password has: sign-in is impossible until a new one is created. */
const NO_SECRET = () => ({ sql: 'lower(hex(randomblob(32)))' })

/** Columns that the hub is never sent and a row needs. */
const COMPLETIONS: Record<string, (row: Row) => Row> = {
  device: () => ({ mqtt_password_hash: NO_SECRET() }),
  user: ({ created_at_ms }) => ({
    key_hash: NO_SECRET(),
    updated_at_ms: created_at_ms,
    last_reset_ms: created_at_ms,
  }),
  alert: ({ details }) => ({ subject: subjectIn(details) }),
  // the hub only knows that it was forced
  command: ({ forced }) => ({ forced: forced === true ? 'all' : null }),
  course: ({ sent, drawing }) => ({ features: sent, drawing: drawing ?? null }),
  course_piece: ({ bytes }) => ({ bytes: Buffer.from(String(bytes), 'base64') }),
  device_config: ({ hardware_id }) => ({
    hardware_id: undefined,
    device_id: { sql: '(SELECT device_id FROM device WHERE hardware_id = ?)', values: [String(hardware_id)] },
  }),
  lock_event: ({ event_id, short_id }) => ({ identity: `${short_id ?? ''} rebuilt:${event_id}` }),
  geofence_event: ({ lat, long }) => ({
    lat: undefined,
    long: undefined,
    lat_e7: toE7(Number(lat)),
    long_e7: toE7(Number(long)),
  }),
}

/** Stores a row of the hub once; false if it is incomplete. */
export function putEntity(connection: Connection, { table, key, body }: RebuildEntity): boolean {
  if (table === 'course' && body.sent === null && body.drawing == null) return false
  // table of a newer gateway
  if (columnsOf(connection, table).size === 0) return false
  // configuration of a deleted device
  if (table === 'device_config' && !hasDevice(connection, body.hardware_id)) return false
  putRow(
    connection,
    table,
    table === 'zone_set' || table === 'site' || table === 'course' ? { only: 1, ...body } : body,
  )
  if (table === 'device') addState(connection, key)
  const photo = table === 'course' ? courseBodySchema.safeParse(body).data?.photo : null
  if (photo != null) putRow(connection, 'course_photo', { only: 1, ...photo })
  // the hub already has it
  if (table === 'course_piece')
    connection.run(`INSERT OR IGNORE INTO change_log (entity, key) VALUES ('course_piece', ?)`, key)
  return true
}

/** Stores an event or a note of the hub once. */
export function putEvent(connection: Connection, stream: 'notes' | 'lock_events' | 'geofence_events', body: Row): void {
  putRow(connection, STREAM_TABLES[stream], body)
}

function putRow(connection: Connection, table: string, body: Row): void {
  const known = columnsOf(connection, table)
  const row: Row = { ...body, ...COMPLETIONS[table]?.(body) }
  // skips absent fields and fields of a newer gateway
  const cells = Object.entries(row).filter(([column, value]) => value !== undefined && known.has(column))
  const values: Value[] = []
  const places = cells.map(([, value]) => {
    if (isExpression(value)) {
      values.push(...(value.values ?? []))
      return value.sql
    }
    values.push(toValue(value))
    return '?'
  })
  connection.run(
    `INSERT OR IGNORE INTO ${table} (${cells.map(([column]) => `"${column}"`).join(', ')}) VALUES ` +
      `(${places.join(', ')})`,
    ...values,
  )
}

/** Object of an alert in addition to its cart, if the kind has several; taken from its details. */
function subjectIn(details: unknown): string {
  if (typeof details !== 'object' || details === null) return ''
  if ('zone_id' in details) return String(details.zone_id)
  if ('hardware_id' in details) return String(details.hardware_id)
  return 'user_id' in details ? String(details.user_id) : ''
}

/** Converts parsed JSON to text, and booleans to 0 and 1. */
function toValue(value: unknown): Value {
  if (typeof value === 'boolean') return Number(value)
  if (value === null || typeof value === 'string' || typeof value === 'number') return value
  if (value instanceof Uint8Array) return value
  return JSON.stringify(value)
}

interface Expression {
  readonly sql: string
  readonly values?: readonly string[]
}

function isExpression(value: unknown): value is Expression {
  return typeof value === 'object' && value !== null && 'sql' in value && typeof value.sql === 'string'
}

function columnsOf(connection: Connection, table: string): Set<string> {
  const rows = connection.all<{ name: string }>('SELECT name FROM pragma_table_info(?)', table)
  return new Set(rows.map(({ name }) => name))
}

function hasDevice(connection: Connection, hardwareId: unknown): boolean {
  return connection.get('SELECT 1 FROM device WHERE hardware_id = ?', String(hardwareId)) !== undefined
}

// its last state is unknown until it reports again
function addState(connection: Connection, hardwareId: string): void {
  connection.run(
    `INSERT OR IGNORE INTO device_state (device_id, latest, updated_at_ms)
       SELECT device_id, '{}', updated_at_ms FROM device WHERE hardware_id = ?`,
    hardwareId,
  )
}
