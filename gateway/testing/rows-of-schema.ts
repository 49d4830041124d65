import { gzipSync } from 'node:zlib'
import { emptyState } from '#domain/latest-state.ts'
import { hashSecret } from '#shared/ids.ts'
import { encodeBlock } from '#shared/telemetry/block.ts'
import { BATTERY, GPS } from '#shared/telemetry/records.ts'
import { toIso } from '#shared/time.ts'
import { NO_ZONE_STATE } from '#shared/zones/watch.ts'
import type { Connection, Value } from '#store/db/connection.ts'
import { encodeBatch } from '#store/telemetry/batch.ts'
import { encodeStateChanges } from '#store/telemetry/state-changes.ts'
import { ADMIN_KEY } from './start-gateway.ts'
import { batchOf } from './telemetry-tables.ts'

/** Number of rows of each table that may have more than one. */
export const ROWS = 3
/** Time of the first record of each device; in the past by any clock that runs this. */
export const FIRST_MS = Date.UTC(2026, 4, 1, 12)
/** Number of records of each stream of each device, a second apart. */
export const RECORDS = 20
/** Number of them in blocks; the others are in the log. */
const SEALED = 15

/** Returns the content of a column with this name for row 1 to `ROWS`, if the schema has the column. */
type Content = (row: number) => Value

/** Contents of columns that the schema alone does not determine; keyed by table and column, or by column. */
const CONTENTS: Readonly<Record<string, Content>> = {
  'device.hardware_id': (row) => `cart-${row}`,
  'device.short_id': (row) => `short-${row}`,
  'device.device_type': () => 'teebox',
  'device.group_id': () => 1,
  // the last two have the password of the shared key, as stored up to schema 8
  'device.mqtt_password_hash': (row) => (row === 1 ? 'own' : 'shared'),
  'device.is_on_shared_key': () => 0,
  'device.created_at_ms': () => FIRST_MS - 1000,
  'device_state.latest': () => JSON.stringify(emptyState()),
  'device_state.watch': () => JSON.stringify(NO_ZONE_STATE),
  'device_state.gps_count': () => RECORDS,
  'device_state.battery_count': () => RECORDS,
  'device_state.gps_first_ms': () => FIRST_MS,
  'device_state.battery_first_ms': () => FIRST_MS,
  'device_state.gps_last_ms': () => FIRST_MS + (RECORDS - 1) * 1000,
  'device_state.battery_last_ms': () => FIRST_MS + (RECORDS - 1) * 1000,
  'lock_event.hardware_id': (row) => `cart-${row}`,
  'lock_event.identity': (row) => `eid:${row}`,
  'lock_event.event': () => 'unlock',
  'lock_event.source': () => 'keypad',
  'lock_event.short_id': (row) => `short-${row}`,
  'geofence_event.short_id': (row) => `short-${row}`,
  'lock_event.metadata': () => '{"by":"staff"}',
  'geofence_event.hardware_id': (row) => `cart-${row}`,
  'geofence_event.event': () => 'enter',
  'geofence_event.zone_type': () => 'parking',
  'geofence_set.group_id': (row) => row,
  'geofence_set.zones': () => '[]',
  'zone_set.zones': () => '[]',
  'zone_set.switches': () => '{}',
  'zone_version.zones': () => '[]',
  'user.user_id': (row) => `user-${row}`,
  'user.role': (row) => (row === 1 ? 'admin' : 'user'),
  'user.is_active': () => 1,
  'user.key_hash': (row) => (row === 1 ? hashSecret(ADMIN_KEY) : `hash-${row}`),
  'user.allowed_hardware_ids': (row) => (row === 3 ? '["cart-1"]' : null),
  'user.mask_codes': () => 0,
  'user.pin_hash': () => null,
  'user.email': (row) => `user-${row}@club.example`,
  'session.user_id': () => 'user-2',
  'mqtt_session.client_id': (row) => (row === 1 ? 'cart-1' : `program-${row}`),
  'mqtt_session.owner': (row) => (row === 1 ? 'cart-1' : 'user:user-1'),
  'mqtt_subscription.client_id': (row) => (row === 1 ? 'cart-1' : `program-${row}`),
  'mqtt_subscription.topic_filter': (row) => `dev/cart-${row}/#`,
  'mqtt_subscription.qos': () => 1,
  'mqtt_queued.client_id': (row) => (row === 1 ? 'cart-1' : `program-${row}`),
  'mqtt_queued.topic': () => 'some/thing',
  'mqtt_queued.qos': () => 1,
  'mqtt_received.client_id': (row) => (row === 1 ? 'cart-1' : `program-${row}`),
  'mqtt_retained.topic': (row) => `kept/${row}`,
  'mqtt_retained.qos': () => 0,
  'mqtt_will.client_id': (row) => (row === 1 ? 'cart-1' : `program-${row}`),
  'mqtt_will.owner': (row) => (row === 1 ? 'cart-1' : 'user:user-1'),
  'mqtt_will.topic': (row) => `will/${row}`,
  'mqtt_will.qos': () => 0,
  'device_type.defaults': () => '{}',
  'device_type.config_schema': () => '{}',
  'device_type.commands': () => '{}',
  'device_config.config': () => '{"report_s":5}',
  'group_config.config': () => '{"report_s":7}',
  'group_config.device_type': () => 'teebox',
  'command.hardware_id': (row) => `cart-${row}`,
  'command.short_id': (row) => `short-${row}`,
  'command.device_type': () => 'teebox',
  'command.command': () => 'lock',
  'command.params': () => '{}',
  'command.metadata': () => '{}',
  'command.status': () => 'completed',
  'command.late_ack': () => null,
  'command.forced': () => null,
  'idempotency_key.user_id': () => 'user-1',
  'idempotency_key.command_ids': () => '[]',
  'idempotency_key.outcome': () => null,
  // ids of rows; deletions of devices that no longer exist would be removed by the first pass
  'telemetry_deletion.device_id': (row) => 100 + row,
  'sync_cursor.stream': (row) => ['telemetry', 'history', 'changes'][row - 1] ?? '',
  'sync_cursor.seq': () => 0,
  'note.kind': () => 'gap',
  'note.body': () => '{}',
  'intent_inbox.kind': () => 'config',
  'intent_inbox.status': () => 'applied',
  'audit_entry.person': () => null,
  'audit_entry.before': () => null,
  'audit_entry.after': () => '{"name":"x"}',
  'site.settings': () => '{"name":"Old Course"}',
  'cart_motion.motion': () => '{}',
  'cart_note.out_of_service': () => null,
  'cart_note.exempt': () => null,
  'zone_exempt.zone_types': () => '[]',
  'closing.waiting': () => '["17"]',
  'alert.kind': () => 'disk',
  'alert.cart': () => null,
  'alert.hardware_id': () => null,
  'alert.acknowledged_by': () => null,
  'alert.details': () => '{}',
  'alert.awaits_end': () => 0,
  'alert.lat_e7': () => null,
  'alert.long_e7': () => null,
  'cart_call.call': () => 'help',
  'cart_call.is_new': () => 0,
  'closed_day.date': () => '2026-05-01',
  'webhook.url': () => 'http://127.0.0.1:9/',
  'webhook.kinds': () => null,
  'mail_report.report': () => 'day',
  'mail_report.at': () => '06:00',
  'mail_report.language': () => 'en',
  'mail_report.done_for': () => '2026-05-01',
  'mail_report.test_id': () => null,
  'notifier.channel': () => 'ntfy',
  'notifier.recipient': () => 'http://127.0.0.1:9/topic',
  'notifier.kinds': () => null,
  'notifier.hours': () => '[0,1]',
  'delivery.target_id': () => 'webhook-gone',
  'delivery.alert_id': () => null,
  'delivery.targets': (row) => `{"webhook-gone":"delivery-${row}"}`,
  'delivery.body': () => '{}',
  'recall.ended_at_ms': () => FIRST_MS,
  'ready_texts.texts': () => '[]',
  'party.body': () => '{}',
  'party.names': () => null,
  'service_entry.entry': () => '{}',
  'service_plan.plan': () => '{}',
  'cart_usage.devices': () => '[]',
  'cart_note.meter': () => null,
  'message.message': () => JSON.stringify(MESSAGE),
  'message.carts': () => '[]',
  'recall.scope': () => '["cart-1"]',
  'recall_message.is_end': () => 1,
  'pin_tries.user_id': (row) => `user-${row}`,
  'pin_tries.wrong': () => '[0]',
  'machine.signs': () => '{}',
  'course.drawing': () => null,
  'course.features': () => gzipSync('[]').toString('base64'),
  'course_photo.content_type': () => 'image/png',
  'course_photo.corners': () => '[[0,0],[0,0],[0,0],[0,0]]',
  'damaged_block.stream': () => 'gps',
  'damaged_block.reason': () => 'wrong_checksum',
  'gps.device_id': (row) => Math.ceil(row / RECORDS),
  'gps.at_ms': (row) => timeOf(row),
  'gps.lat_e7': (row) => recordValue(row),
  'gps.long_e7': (row) => -recordValue(row),
  'battery.device_id': (row) => Math.ceil(row / RECORDS),
  'battery.at_ms': (row) => timeOf(row),
  'battery.voltage_mv': (row) => recordValue(row),
  'telemetry_block.device_id': (row) => Math.ceil(row / 2),
  'telemetry_block.stream': (row) => (row % 2 === 1 ? 'gps' : 'battery'),
  'telemetry_block.first_ms': () => FIRST_MS,
  'telemetry_block.last_ms': () => FIRST_MS + (SEALED - 1) * 1000,
  'telemetry_block.count': () => SEALED,
  'telemetry_block.records': (row) => blockOf(row % 2 === 1 ? 'gps' : 'battery'),
  'telemetry_log.first_seq': () => 1,
  'telemetry_log.samples': () => loggedSamples(),
  'telemetry_log.state_changes': () => null,
  'state_change.changes': () => encodeStateChanges([]),
}

const AT = toIso(FIRST_MS)
const BY = { user_id: 'u', name: 'Jane' }
const MESSAGE = { message_id: 'm', text: 'Fog.', text_id: null, to: { hole: 7 }, sent_at: AT, expires_at: AT, by: BY }

/** Tables with another number of rows than `ROWS`. */
const MANY: Readonly<Record<string, number>> = {
  gps: ROWS * RECORDS,
  battery: ROWS * RECORDS,
  telemetry_block: ROWS * 2,
  telemetry_log: 1,
  recall: 1,
}

/**
 * Fills each table of a database of any schema with rows that the program of that schema might have written; contents
 * not given above follow from the schema. Single-row tables get one row.
 */
export function fillSchema(connection: Connection): void {
  const tables = connection.all<{ name: string; sql: string }>(
    "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY rowid",
  )
  for (const { name, sql } of tables) {
    if (['migration', 'change_log', 'block_log'].includes(name)) continue
    const isSingle = /CHECK \(\w+ = 1\)/.test(sql)
    if (isSingle && connection.get(`SELECT 1 FROM ${name}`) !== undefined) continue
    const rows = isSingle ? 1 : (MANY[name] ?? ROWS)
    for (let row = 1; row <= rows; row++) insertRow(connection, name, row)
  }
  if (tables.some(({ name }) => name === 'telemetry_log_end'))
    connection.run('UPDATE telemetry_log_end SET next_seq = ?', 1 + ROWS * (RECORDS - SEALED))
}

interface Column {
  name: string
  type: string
  isKey: number
}

function insertRow(connection: Connection, table: string, row: number): void {
  const columns = connection.all<Column>(
    `SELECT name, type, pk AS isKey FROM pragma_table_info('${table}') ORDER BY cid`,
  )
  const values = columns.map(({ name, type }) => {
    const content = CONTENTS[`${table}.${name}`]
    return content === undefined ? contentOf(table, name, type, row) : content(row)
  })
  const names = columns.map(({ name }) => `"${name}"`).join(', ')
  connection.run(`INSERT INTO ${table} (${names}) VALUES (${columns.map(() => '?').join(', ')})`, ...values)
}

/** Derives the content of a column from its name and type. */
function contentOf(table: string, name: string, type: string, row: number): Value {
  if (name.endsWith('_ms')) return FIRST_MS + row
  if (['extra', 'retry_of', 'forked_from'].includes(name)) return null
  if (type === 'TEXT') return `${table}-${name}-${row}`
  if (type === 'BLOB' || type === 'ANY') return Buffer.from(`${table}-${row}`)
  return row
}

/** Returns the time of a row; row 1 has that of the first record of the first device. */
function timeOf(row: number): number {
  return FIRST_MS + ((row - 1) % RECORDS) * 1000
}

function recordValue(row: number): number {
  return 12_000 + ((row - 1) % RECORDS)
}

function blockOf(stream: 'gps' | 'battery'): Uint8Array {
  const numbers = Array.from({ length: SEALED }, (_, i) => i)
  const atMs = Float64Array.from(numbers, (i) => FIRST_MS + i * 1000)
  const values = Int32Array.from(numbers, (i) => 12_000 + i)
  return stream === 'battery'
    ? encodeBlock(BATTERY, { atMs, voltageMv: values })
    : encodeBlock(GPS, {
        atMs,
        latE7: values,
        longE7: values.map((value) => -value),
        speedMilliKmh: values.map((value) => value - 12_000),
      })
}

/** Returns the samples of all devices that are newer than the blocks. */
function loggedSamples(): Uint8Array {
  const samples = Array.from({ length: ROWS * (RECORDS - SEALED) }, (_, i) => ({
    deviceId: 1 + (i % ROWS),
    atMs: FIRST_MS + (SEALED + Math.floor(i / ROWS)) * 1000,
    streams: 'both' as const,
    value: 12_000 + SEALED + Math.floor(i / ROWS),
  }))
  return encodeBatch(batchOf(samples))
}
