import assert from 'node:assert/strict'
import type { TelemetryStream } from '#shared/ids.ts'
import { decodeBlock, encodeBlock, MAX_BLOCK_RECORDS } from '#shared/telemetry/block.ts'
import { BATTERY, GPS, type RecordKind, type Records } from '#shared/telemetry/records.ts'
import { migrate } from '#store/migrate.ts'
import { createDevice, deviceCounts, type StreamCounts } from '#store/tables/devices.ts'
import {
  allocateBatch,
  decodeBatch,
  encodeBatch,
  HAS_BATTERY,
  HAS_GPS,
  type TelemetryBatch,
} from '#store/telemetry/batch.ts'
import { LOG_TRUNCATED } from '#store/telemetry/log-row.ts'
import type { WriterTables } from '#store/telemetry/log-tail.ts'
import { saveStates } from '#store/telemetry/save-states.ts'
import { openForSetup, openWriter } from '#store/writer/open.ts'
import { nextSeq } from './telemetry-tables.ts'

const KINDS = { gps: GPS, battery: BATTERY }
const BITS = { gps: HAS_GPS, battery: HAS_BATTERY }
const STREAMS = ['gps', 'battery'] as const

/**
 * Telemetry written into a database in its stored form; each record's values follow from its time, so that tests can
 * identify it.
 */
export class BlockTable {
  readonly connection: WriterTables
  #devices = 0

  /** Creates the database if it is missing. */
  constructor(path: string) {
    const setup = openForSetup(path)
    migrate(setup)
    setup.close()
    this.connection = openWriter(path)
    this.#devices = this.connection.get<{ n: number }>('SELECT count(*) AS n FROM device')?.n ?? 0
  }

  newDevice(hardwareId = `cart-${this.#devices + 1}`): number {
    this.#devices++
    return createDevice(this.connection, {
      hardwareId,
      deviceType: 'teebox',
      name: null,
      groupId: null,
      publication: { version: null, sessionChanges: [] },
      mqttPasswordHash: 'x',
      nowMs: 0,
    }).deviceId
  }

  /** Adds one block of these times, counted. Returns its id. */
  addBlock(deviceId: number, stream: TelemetryStream, times: readonly number[]): number {
    const block = blockOf(stream, times)
    const [firstMs = 0, lastMs = 0] = [times[0], times.at(-1)]
    this.#count(deviceId, stream, times)
    return this.addBytes({ deviceId, stream, firstMs, lastMs, count: times.length }, block)
  }

  /** Adds any bytes as a block, not counted. */
  addBytes(
    row: { deviceId: number; stream: TelemetryStream; firstMs: number; lastMs: number; count: number },
    records: Uint8Array,
  ): number {
    const { deviceId, stream, firstMs, lastMs, count } = row
    this.connection.run(
      `INSERT INTO telemetry_block (device_id, stream, first_ms, last_ms, count, records) VALUES (?, ?, ?, ?, ?, ?)`,
      deviceId,
      stream,
      firstMs,
      lastMs,
      count,
      records,
    )
    return this.connection.get<{ id: number }>('SELECT max(block_id) AS id FROM telemetry_block')?.id ?? 0
  }

  /** Adds records to the log. */
  log(deviceId: number, stream: TelemetryStream, times: readonly number[]): void {
    if (times.length === 0) return
    const batch = allocateBatch(times.length)
    const kind = KINDS[stream]
    for (const [i, atMs] of times.entries()) {
      batch.deviceId[i] = deviceId
      batch.atMs[i] = atMs
      batch.streams[i] = BITS[stream]
      if (stream === 'battery') batch.voltageMv[i] = sampleValue(atMs, 0)
      else for (const [c] of kind.rules.entries()) gpsColumn(batch, c)[i] = sampleValue(atMs, c)
    }
    this.connection.run(
      'INSERT INTO telemetry_log (first_seq, samples) VALUES (?, ?)',
      nextSeq(this.connection),
      encodeBatch(batch),
    )
    this.connection.tail.forget()
  }

  /** Moves the log into blocks of `size` records; the log must be later than everything in blocks. */
  seal(size = MAX_BLOCK_RECORDS): void {
    this.connection.db.transaction(() => {
      for (const stream of STREAMS) {
        for (const [deviceId, times] of this.#logged(stream)) {
          times.sort((a, b) => a - b)
          for (let from = 0; from < times.length; from += size) {
            const part = times.slice(from, from + size)
            const [firstMs = 0, lastMs = 0] = [part[0], part.at(-1)]
            this.addBytes({ deviceId, stream, firstMs, lastMs, count: part.length }, blockOf(stream, part))
          }
        }
      }
      saveStates(this.connection)
      this.connection.run(LOG_TRUNCATED, nextSeq(this.connection))
      this.connection.run('DELETE FROM telemetry_log')
      this.connection.tail.forget()
    })()
  }

  /**
   * Returns the times in the blocks of a device's stream. Fails if a row does not match its block, or blocks overlap.
   */
  blockTimes(deviceId: number, stream: TelemetryStream): number[] {
    const rows = this.connection.all<{ firstMs: number; lastMs: number; count: number; records: Uint8Array }>(
      `SELECT first_ms AS firstMs, last_ms AS lastMs, count, records FROM telemetry_block
       WHERE device_id = ? AND stream = ? ORDER BY first_ms`,
      deviceId,
      stream,
    )
    const all: number[] = []
    for (const { firstMs, lastMs, count, records } of rows) {
      const times = stream === 'gps' ? checkedTimes(GPS, records) : checkedTimes(BATTERY, records)
      assert.deepEqual([times.length, times[0], times.at(-1)], [count, firstMs, lastMs])
      assert.ok(all.length === 0 || (all.at(-1) ?? 0) < firstMs, 'blocks overlap')
      all.push(...times)
    }
    return all
  }

  /** Returns the times of a device's stream, in blocks and in the log. */
  times(deviceId: number, stream: TelemetryStream): number[] {
    const times = [...this.blockTimes(deviceId, stream), ...(this.#logged(stream).get(deviceId) ?? [])]
    return times.sort((a, b) => a - b)
  }

  /** Fails unless the counts of a device match its records. */
  assertCounted(deviceId: number): void {
    const counts = deviceCounts(this.connection, deviceId)
    for (const stream of STREAMS) assert.deepEqual(counts[stream], countsOf(this.times(deviceId, stream)))
  }

  close(): void {
    this.connection.close()
  }

  #count(deviceId: number, stream: TelemetryStream, times: readonly number[]): void {
    const { count, firstMs, lastMs } = countsOf([...times].sort((a, b) => a - b))
    this.connection.run(
      `UPDATE device_state SET ${stream}_count = ${stream}_count + ?,
         ${stream}_first_ms = min(ifnull(${stream}_first_ms, ?), ?),
         ${stream}_last_ms = max(ifnull(${stream}_last_ms, ?), ?) WHERE device_id = ?`,
      count,
      firstMs,
      firstMs,
      lastMs,
      lastMs,
      deviceId,
    )
  }

  #logged(stream: TelemetryStream): Map<number, number[]> {
    const found = new Map<number, number[]>()
    for (const { samples } of this.connection.all<{ samples: Uint8Array }>(
      'SELECT samples FROM telemetry_log ORDER BY first_seq',
    )) {
      const batch = decodeBatch(samples)
      for (let i = 0; i < batch.count; i++) {
        if (((batch.streams[i] ?? 0) & BITS[stream]) === 0) continue
        const deviceId = batch.deviceId[i] ?? 0
        const times = found.get(deviceId) ?? []
        times.push(batch.atMs[i] ?? 0)
        found.set(deviceId, times)
      }
    }
    return found
  }
}

/** Returns the block of records at these times. */
export function blockOf(stream: TelemetryStream, times: readonly number[]): Uint8Array {
  return stream === 'gps' ? encoded(GPS, times) : encoded(BATTERY, times)
}

function encoded<R extends Records>(kind: RecordKind<R>, times: readonly number[]): Uint8Array {
  const records = kind.allocate(times.length)
  records.atMs.set(times)
  for (const [c, column] of kind.columnsOf(records).entries()) {
    column.set(times.map((atMs) => sampleValue(atMs, c)))
  }
  return encodeBlock(kind, records)
}

function checkedTimes<R extends Records>(kind: RecordKind<R>, block: Uint8Array): number[] {
  const columns = kind.allocate(MAX_BLOCK_RECORDS)
  const records = kind.view(columns, 0, decodeBlock(kind, block, columns))
  const times = [...records.atMs]
  for (const [c, column] of kind.columnsOf(records).entries()) {
    assert.deepEqual(
      [...column],
      times.map((atMs) => sampleValue(atMs, c)),
    )
  }
  return times
}

function gpsColumn(batch: TelemetryBatch, index: number): Int32Array {
  return [batch.latE7, batch.longE7, batch.speedMilliKmh][index] ?? batch.speedMilliKmh
}

// pseudo-random, so that no two blocks are alike; within all limits
function sampleValue(atMs: number, column: number): number {
  let mixed = Math.imul((atMs % 0x7fff_ffff) + column, 0x9e37_79b1)
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x85eb_ca77)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2_ae3d)
  return (mixed ^ (mixed >>> 16)) >>> 3
}

function countsOf(times: readonly number[]): StreamCounts {
  return { count: times.length, firstMs: times[0] ?? null, lastMs: times.at(-1) ?? null }
}
