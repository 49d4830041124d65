import type { TelemetryStream } from '#shared/ids.ts'
import { type Salvaged, salvageTable } from '../damage/salvage.ts'
import type { Connection } from '../db/connection.ts'
import { decodeBatch, HAS_BATTERY, HAS_GPS, sampleCountOf } from '../telemetry/batch.ts'

/** Numbers that are left out when it is not known how far they were given. */
const MARGIN = 1_000_000

/** Rows that are of no use without the row that they belong to. */
const CHILDREN = [
  ['device_state', 'device_id NOT IN (SELECT device_id FROM device)'],
  ['device_config', 'device_id NOT IN (SELECT device_id FROM device)'],
  ['cart_motion', 'device_id NOT IN (SELECT device_id FROM device)'],
  ['zone_exempt', 'device_id NOT IN (SELECT device_id FROM device)'],
  ['group_config', 'group_id NOT IN (SELECT group_id FROM device_group)'],
  ['block_log', 'block_id NOT IN (SELECT block_id FROM telemetry_block)'],
] as const

/** Each replicated row and its key in change_log, as its trigger enters it. */
const ENTRIES = [
  "SELECT 'device_group', CAST(group_id AS TEXT) FROM device_group",
  "SELECT 'device_type', name FROM device_type",
  "SELECT 'device', hardware_id FROM device",
  "SELECT 'group_config', group_id || '/' || device_type FROM group_config",
  "SELECT 'device_config', hardware_id FROM device_config JOIN device USING (device_id)",
  "SELECT 'geofence_set', CAST(group_id AS TEXT) FROM geofence_set",
  "SELECT 'site', 'site' FROM site",
  "SELECT 'zone_set', 'site' FROM zone_set",
  "SELECT 'course', 'site' FROM course",
  "SELECT 'course_piece', printf('%s/%04d', hash, number) FROM course_piece",
  "SELECT 'alert', alert_id FROM alert",
  "SELECT 'cart_note', cart FROM cart_note",
  "SELECT 'user', user_id FROM user",
  "SELECT 'command', command_id FROM command",
  "SELECT 'audit_entry', entry_id FROM audit_entry",
]

/** Sees to it that no number is given twice: those of AUTOINCREMENT, of the telemetry log and of configurations. Before any is given. */
export function keepNumbersUnused(from: Connection, to: Connection, tables: readonly Salvaged[]): void {
  to.db.exec('CREATE TEMP TABLE old_sequence (name, seq)')
  const old = salvageTable(from, to, 'old_sequence', 'sqlite_sequence')
  const numbered = to.all<{ name: string }>(
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%AUTOINCREMENT%' ORDER BY name",
  )
  for (const { name } of numbered) {
    const known = to.get<{ seq: number | null }>(
      `SELECT max(seq) AS seq FROM (SELECT seq FROM sqlite_sequence WHERE name = ?
         UNION ALL SELECT seq FROM old_sequence WHERE name = ? AND typeof(seq) = 'integer')`,
      name,
      name,
    )?.seq
    if (known == null && old.isComplete) continue
    to.run('DELETE FROM sqlite_sequence WHERE name = ?', name)
    const seq = (known ?? 0) + (old.isComplete ? 0 : MARGIN)
    to.run('INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)', name, seq)
  }
  to.db.exec('DROP TABLE old_sequence')
  const isLogWhole = tables.every(
    ({ table, isComplete }) => isComplete || !['telemetry_log', 'telemetry_log_end'].includes(table),
  )
  if (!isLogWhole) moveLogEnd(to)
  const versions = tables.find(({ table }) => table === 'config_version')
  if (versions?.isComplete === false) to.run('UPDATE config_version SET version = version + ?', MARGIN)
}

// where the log ended is not known any more
function moveLogEnd(to: Connection): void {
  const end = to.get<{ nextSeq: number }>('SELECT next_seq AS nextSeq FROM telemetry_log_end')?.nextSeq ?? 1
  const last = to.get<{ firstSeq: number; byteLength: number }>(
    'SELECT first_seq AS firstSeq, length(samples) AS byteLength FROM telemetry_log ORDER BY first_seq DESC LIMIT 1',
  )
  const logEnd = last === undefined ? 1 : last.firstSeq + sampleCountOf(last)
  const acknowledged = to.get<{ seq: number }>("SELECT seq FROM sync_cursor WHERE stream = 'telemetry'")?.seq
  to.run(
    'UPDATE telemetry_log_end SET next_seq = ?, cuts = cuts + 1',
    Math.max(end, logEnd, acknowledged ?? 0) + MARGIN,
  )
}

/** Deletes rows that belonged to what is gone; returns how many, by table. */
export function removeOrphans(to: Connection): Map<string, number> {
  const removed = new Map<string, number>()
  for (const [table, where] of CHILDREN) {
    const rows = to.run(`DELETE FROM ${table} WHERE ${where}`)
    if (rows > 0) removed.set(table, rows)
  }
  to.run('UPDATE device SET group_id = NULL WHERE group_id NOT IN (SELECT group_id FROM device_group)')
  return removed
}

/** Enters all that the head office may lack in what it is to get. */
export function enterAll(to: Connection, isBlockLogWhole: boolean): void {
  for (const entries of ENTRIES) to.run(`INSERT OR IGNORE INTO change_log (entity, key) ${entries}`)
  to.run('UPDATE command_count SET commands = (SELECT count(*) FROM command)')
  if (isBlockLogWhole) return
  to.run(`INSERT OR IGNORE INTO block_log (block_id) SELECT block_id FROM telemetry_block
    WHERE device_id IN (SELECT device_id FROM device) ORDER BY last_ms, block_id`)
}

interface Extent {
  count: number
  firstMs: number
  lastMs: number
}

/** Counts the records of each device anew. */
export function recountDevices(to: Connection): void {
  const counted = { gps: extentsOfBlocks(to, 'gps'), battery: extentsOfBlocks(to, 'battery') }
  const rows = to.statement<{ samples: Uint8Array }>('SELECT samples FROM telemetry_log ORDER BY first_seq')
  for (const { samples } of rows.iterate()) countBatch(counted, samples)
  for (const { deviceId } of to.all<{ deviceId: number }>('SELECT device_id AS deviceId FROM device')) {
    for (const stream of ['gps', 'battery'] as const) {
      const { count = 0, firstMs = null, lastMs = null } = counted[stream].get(deviceId) ?? {}
      to.run(
        `UPDATE device_state SET ${stream}_count = ?, ${stream}_first_ms = ?, ${stream}_last_ms = ? WHERE device_id = ?`,
        count,
        firstMs,
        lastMs,
        deviceId,
      )
    }
  }
}

function extentsOfBlocks(to: Connection, stream: TelemetryStream): Map<number, Extent> {
  const rows = to.all<Extent & { deviceId: number }>(
    `SELECT device_id AS deviceId, sum(count) AS count, min(first_ms) AS firstMs, max(last_ms) AS lastMs
     FROM telemetry_block WHERE stream = ? GROUP BY device_id`,
    stream,
  )
  return new Map(rows.map(({ deviceId, ...extent }) => [deviceId, extent]))
}

function countBatch(counted: Record<TelemetryStream, Map<number, Extent>>, samples: Uint8Array): void {
  let batch: ReturnType<typeof decodeBatch>
  try {
    batch = decodeBatch(samples)
  } catch {
    // whoever seals it reports it
    return
  }
  for (let i = 0; i < batch.count; i++) {
    const [deviceId, atMs, has] = [batch.deviceId[i] ?? 0, batch.atMs[i] ?? 0, batch.streams[i] ?? 0]
    if ((has & HAS_GPS) !== 0) extend(counted.gps, deviceId, atMs)
    if ((has & HAS_BATTERY) !== 0) extend(counted.battery, deviceId, atMs)
  }
}

function extend(extents: Map<number, Extent>, deviceId: number, atMs: number): void {
  const { count, firstMs, lastMs } = extents.get(deviceId) ?? { count: 0, firstMs: atMs, lastMs: atMs }
  extents.set(deviceId, {
    count: count + 1,
    firstMs: Math.min(firstMs, atMs),
    lastMs: Math.max(lastMs, atMs),
  })
}
