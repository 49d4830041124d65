import { encodeBlock, MAX_BLOCK_RECORDS } from '#shared/telemetry/block.ts'
import { BATTERY, GPS, NO_SPEED, type RecordKind, type Records } from '#shared/telemetry/records.ts'
import type { Connection } from '../db/connection.ts'
import { insertBlock } from './blocks.ts'

type Row = Record<string, number | null>

/** Seals the tables with one row for each record, up to schema 6, into blocks. The caller holds the transaction. */
export function sealRowTables(connection: Connection): void {
  sealTable(connection, GPS, ({ atMs }, rows) => ({
    atMs,
    latE7: columnOf(rows, 'lat_e7'),
    longE7: columnOf(rows, 'long_e7'),
    speedMilliKmh: columnOf(rows, 'speed_milli_kmh'),
  }))
  sealTable(connection, BATTERY, ({ atMs }, rows) => ({ atMs, voltageMv: columnOf(rows, 'voltage_mv') }))
  // the rows of a deleted device need no further deletion
  connection.db.exec('DROP TABLE gps; DROP TABLE battery')
}

function sealTable<R extends Records>(
  connection: Connection,
  kind: RecordKind<R>,
  toRecords: (times: Records, rows: readonly Row[]) => R,
): void {
  const devices = connection.all<{ deviceId: number }>(
    `SELECT DISTINCT device_id FROM ${kind.name} WHERE device_id IN (SELECT device_id FROM device)`,
  )
  for (const { deviceId } of devices) {
    let lastMs = -1
    for (;;) {
      const rows = connection
        .statement<Row>(
          `SELECT * FROM ${kind.name} WHERE device_id = ? AND at_ms > ? ORDER BY at_ms LIMIT ${MAX_BLOCK_RECORDS}`,
        )
        .all(deviceId, lastMs)
      if (rows.length === 0) break
      const atMs = Float64Array.from(rows, ({ at_ms }) => at_ms ?? 0)
      const [firstMs = 0] = atMs
      lastMs = atMs.at(-1) ?? 0
      const records = encodeBlock(kind, toRecords({ atMs }, rows))
      insertBlock(connection, { deviceId, stream: kind.name }, { firstMs, lastMs, count: rows.length, records })
    }
  }
}

function columnOf(rows: readonly Row[], name: string): Int32Array {
  return Int32Array.from(rows, (row) => row[name] ?? NO_SPEED)
}
