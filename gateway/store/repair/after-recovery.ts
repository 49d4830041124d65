import type { TelemetryStream } from '#shared/ids.ts'
import { type RecoveredRows, recoverTable } from '../damage/recover-table.ts'
import type { Connection } from '../db/connection.ts'
import { SEQUENCE_GAP } from '../db/table.ts'
import { CHANGE_LOG_ENTRIES, TABLES } from '../tables/all.ts'
import { decodeBatch, HAS_BATTERY, HAS_GPS, sampleCountOf } from '../telemetry/batch.ts'

/** Ensures that no AUTOINCREMENT, log or configuration number is assigned twice. Must run before any is assigned. */
export function reserveSequenceNumbers(from: Connection, to: Connection, tables: readonly RecoveredRows[]): void {
  to.db.exec('CREATE TEMP TABLE old_sequence (name, seq)')
  const old = recoverTable(from, to, 'old_sequence', 'sqlite_sequence')
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
    const seq = (known ?? 0) + (old.isComplete ? 0 : SEQUENCE_GAP)
    to.run('INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)', name, seq)
  }
  to.db.exec('DROP TABLE old_sequence')
  const isLogWhole = tables.every(
    ({ table, isComplete }) => isComplete || !['telemetry_log', 'telemetry_log_end'].includes(table),
  )
  if (!isLogWhole) moveLogEnd(to)
  const versions = tables.find(({ table }) => table === 'config_version')
  if (versions?.isComplete === false) to.run('UPDATE config_version SET version = version + ?', SEQUENCE_GAP)
}

// used when the end of the log is unknown
function moveLogEnd(to: Connection): void {
  const end = to.get<{ nextSeq: number }>('SELECT next_seq FROM telemetry_log_end')?.nextSeq ?? 1
  const last = to.get<{ firstSeq: number; byteLength: number }>(
    'SELECT first_seq, length(samples) AS byteLength FROM telemetry_log ORDER BY first_seq DESC LIMIT 1',
  )
  const logEnd = last === undefined ? 1 : last.firstSeq + sampleCountOf(last)
  const acknowledged = to.get<{ seq: number }>("SELECT seq FROM sync_cursor WHERE stream = 'telemetry'")?.seq
  to.run(
    'UPDATE telemetry_log_end SET next_seq = ?, cuts = cuts + 1',
    Math.max(end, logEnd, acknowledged ?? 0) + SEQUENCE_GAP,
  )
}

/** Deletes rows whose parent row is gone; returns the number by table. */
export function removeOrphans(to: Connection): Map<string, number> {
  const removed = new Map<string, number>()
  for (const { name, belongsTo } of TABLES.values()) {
    if (belongsTo === undefined) continue
    const [column, parent] = belongsTo
    const rows = to.run(`DELETE FROM ${name} WHERE ${column} NOT IN (SELECT ${column} FROM ${parent})`)
    if (rows > 0) removed.set(name, rows)
  }
  to.run('UPDATE device SET group_id = NULL WHERE group_id NOT IN (SELECT group_id FROM device_group)')
  return removed
}

/** Adds everything that the hub may lack to the change log and the block log. */
export function logAllForSync(to: Connection, isBlockLogWhole: boolean): void {
  for (const entries of CHANGE_LOG_ENTRIES) to.run(`INSERT OR IGNORE INTO change_log (entity, key) ${entries}`)
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

export function recountDevices(to: Connection): void {
  const counted = { gps: extentsOfBlocks(to, 'gps'), battery: extentsOfBlocks(to, 'battery') }
  const rows = to.statement<{ samples: Uint8Array }>('SELECT samples FROM telemetry_log ORDER BY first_seq')
  for (const { samples } of rows.iterate()) countBatch(counted, samples)
  for (const { deviceId } of to.all<{ deviceId: number }>('SELECT device_id FROM device')) {
    for (const stream of ['gps', 'battery'] as const) {
      const { count = 0, firstMs = null, lastMs = null } = counted[stream].get(deviceId) ?? {}
      to.run(
        `UPDATE device_state SET ${stream}_count = ?, ${stream}_first_ms = ?, ${stream}_last_ms = ? WHERE device_id =
          ?`,
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
    `SELECT device_id, sum(count) AS count, min(first_ms) AS firstMs, max(last_ms) AS lastMs
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
    // reported when the batch is sealed
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
