import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { decodeBlock, MAX_BLOCK_RECORDS } from '#shared/telemetry/block.ts'
import { BATTERY, GPS } from '#shared/telemetry/records.ts'
import type { Connection } from '#store/db/connection.ts'
import { migrate } from '#store/migrate.ts'
import {
  allocateBatch,
  decodeBatch,
  encodeBatch,
  HAS_BATTERY,
  HAS_GPS,
  type TelemetryBatch,
} from '#store/telemetry/batch.ts'
import type { WriterTables } from '#store/telemetry/log-tail.ts'
import { openForSetup } from '#store/writer/open.ts'

/** Sample as tests write it; `value` identifies its records. */
export interface TestSample {
  deviceId: number
  atMs: number
  streams: 'gps' | 'battery' | 'both'
  value: number
}

export interface TestBlock {
  blockId: number
  deviceId: number
  stream: 'gps' | 'battery'
  firstMs: number
  lastMs: number
  count: number
  records: Uint8Array
}

/** Opens a separate database, whose writes need not reach the disk. */
export function openTables(): { connection: WriterTables; close: () => void } {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-tables-'))
  const connection = openForSetup(join(folder, 'cartbarn.db'))
  migrate(connection)
  connection.db.pragma('synchronous = OFF')
  const close = () => {
    connection.close()
    rmSync(folder, { recursive: true, force: true })
  }
  return { connection, close }
}

/** Registers a device with the minimum of columns. */
export function registerDevice(connection: Connection, deviceId: number): void {
  connection.run(
    `INSERT INTO device (device_id, hardware_id, short_id, device_type, mqtt_password_hash, created_at_ms,
      updated_at_ms)
     VALUES (?, ?, ?, 'teebox', 'x', 0, 0)`,
    deviceId,
    `cart-${deviceId}`,
    `short-${deviceId}`,
  )
}

export function batchOf(samples: readonly TestSample[]): TelemetryBatch {
  const batch = allocateBatch(samples.length)
  for (const [i, { deviceId, atMs, streams, value }] of samples.entries()) {
    batch.deviceId[i] = deviceId
    batch.atMs[i] = atMs
    if (streams !== 'battery') {
      batch.streams[i] = HAS_GPS
      batch.latE7[i] = value
      batch.longE7[i] = -value
      batch.speedMilliKmh[i] = value % 3 === 0 ? -1 : value
    }
    if (streams !== 'gps') {
      batch.streams[i] = (batch.streams[i] ?? 0) | HAS_BATTERY
      batch.voltageMv[i] = value
    }
  }
  return batch
}

/** Adds a row to the log; returns its first sequence number. */
export function appendToLog(connection: Connection, samples: readonly TestSample[]): number {
  const firstSeq = nextSeq(connection)
  connection.run(
    'INSERT INTO telemetry_log (first_seq, samples) VALUES (?, ?)',
    firstSeq,
    encodeBatch(batchOf(samples)),
  )
  return firstSeq
}

/** Returns the sequence number of the next sample in the log. */
export function nextSeq(connection: Connection): number {
  const { next } = connection.get<{ next: number }>('SELECT next_seq AS next FROM telemetry_log_end') ?? {
    next: 1,
  }
  const last = connection.get<{ firstSeq: number; bytes: number }>(
    'SELECT first_seq AS firstSeq, length(samples) AS bytes FROM telemetry_log ORDER BY first_seq DESC LIMIT 1',
  )
  if (last === undefined) return next
  // not decoded, because it may be damaged
  const count = Math.max(1, Math.floor((last.bytes - EMPTY_BYTES) / SAMPLE_BYTES))
  return Math.max(next, last.firstSeq + count)
}

const EMPTY_BYTES = encodeBatch(allocateBatch(0)).length
const SAMPLE_BYTES = encodeBatch(allocateBatch(1)).length - EMPTY_BYTES

/** Returns all blocks, by device, stream and time. */
export function blocksIn(connection: Connection): TestBlock[] {
  return connection.all<TestBlock>(
    `SELECT block_id AS blockId, device_id AS deviceId, stream, first_ms AS firstMs, last_ms AS lastMs, count, records
     FROM telemetry_block ORDER BY device_id, stream, first_ms`,
  )
}

/**
 * Returns all records by `recordKey`, with their values: those of blocks, and those of the log that are in no block.
 */
export function recordsIn(connection: Connection): Map<string, number> {
  const found = new Map<string, number>()
  for (const { deviceId, stream, records } of blocksIn(connection)) {
    for (const [atMs, value] of valuesOf(stream, records)) found.set(recordKey(deviceId, stream, atMs), value)
  }
  const rows = connection.all<{ samples: Uint8Array }>('SELECT samples FROM telemetry_log ORDER BY first_seq')
  for (const { samples } of rows) {
    const batch = decodeBatch(samples)
    for (let i = 0; i < batch.count; i++) {
      const bits = batch.streams[i] ?? 0
      const key = (stream: 'gps' | 'battery') => recordKey(batch.deviceId[i] ?? 0, stream, batch.atMs[i] ?? 0)
      if (bits & HAS_GPS) setFirst(found, key('gps'), batch.latE7[i] ?? 0)
      if (bits & HAS_BATTERY) setFirst(found, key('battery'), batch.voltageMv[i] ?? 0)
    }
  }
  return found
}

export function recordKey(deviceId: number, stream: 'gps' | 'battery', atMs: number): string {
  return `${deviceId} ${stream} ${atMs}`
}

/** Sets a value unless the key exists. */
export function setFirst(records: Map<string, number>, key: string, value: number): void {
  if (!records.has(key)) records.set(key, value)
}

/** Returns times and values of the records of a block. */
function valuesOf(stream: 'gps' | 'battery', block: Uint8Array): [atMs: number, value: number][] {
  const gps = GPS.allocate(MAX_BLOCK_RECORDS)
  const battery = BATTERY.allocate(MAX_BLOCK_RECORDS)
  const count = stream === 'gps' ? decodeBlock(GPS, block, gps) : decodeBlock(BATTERY, block, battery)
  const [atMs, values] = stream === 'gps' ? [gps.atMs, gps.latE7] : [battery.atMs, battery.voltageMv]
  return Array.from({ length: count }, (_, i) => [atMs[i] ?? 0, values[i] ?? 0])
}
