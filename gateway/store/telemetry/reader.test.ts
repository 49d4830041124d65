import assert from 'node:assert/strict'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'
import Database from 'better-sqlite3'
import fc from 'fast-check'
import { encodeBlock } from '#shared/telemetry/block.ts'
import { BATTERY, GPS, type GpsRecords, NO_SPEED } from '#shared/telemetry/records.ts'
import { migrate } from '../migrate.ts'
import { allocateBatch, encodeBatch, HAS_BATTERY, HAS_GPS } from './batch.ts'
import { LOG_TRUNCATED } from './log-row.ts'
import { WriterTables } from './log-tail.ts'
import { TelemetryReader } from './reader.ts'

const ALL = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER }

function open(): WriterTables {
  const tables = new WriterTables(new Database(':memory:'))
  migrate(tables)
  return tables
}

/** Record whose values follow from its time and from where it was stored. */
function gpsAt(timesMs: readonly number[], speed = 5): GpsRecords {
  return {
    atMs: Float64Array.from(timesMs),
    latE7: Int32Array.from(timesMs, (atMs) => atMs * 3),
    longE7: Int32Array.from(timesMs, (atMs) => -atMs),
    speedMilliKmh: Int32Array.from(timesMs, (atMs) => (atMs % 3 === 0 ? NO_SPEED : speed)),
  }
}

function putBlock(tables: WriterTables, deviceId: number, timesMs: readonly number[]): number {
  tables.run(
    `INSERT INTO telemetry_block (device_id, stream, first_ms, last_ms, count, records) VALUES (?, 'gps', ?, ?, ?, ?)`,
    deviceId,
    timesMs[0] ?? 0,
    timesMs.at(-1) ?? 0,
    timesMs.length,
    encodeBlock(GPS, gpsAt(timesMs)),
  )
  return Number(tables.get<{ id: number }>('SELECT max(block_id) AS id FROM telemetry_block')?.id)
}

let nextSeq = 1

/** Appends one row to the log, with one time of `deviceId` and one of another device for each. */
function putLog(tables: WriterTables, deviceId: number, timesMs: readonly number[], speed?: number): void {
  const batch = allocateBatch(timesMs.length * 2)
  const records = gpsAt(timesMs, speed)
  for (const [i, atMs] of timesMs.entries()) {
    batch.deviceId.set([deviceId, deviceId + 1], i * 2)
    batch.atMs.set([atMs, atMs], i * 2)
    batch.latE7[i * 2] = records.latE7[i] ?? 0
    batch.longE7[i * 2] = records.longE7[i] ?? 0
    batch.speedMilliKmh[i * 2] = records.speedMilliKmh[i] ?? 0
    batch.voltageMv[i * 2 + 1] = atMs
    batch.streams.set([HAS_GPS, HAS_BATTERY], i * 2)
  }
  tables.run('INSERT INTO telemetry_log (first_seq, samples) VALUES (?, ?)', nextSeq, encodeBatch(batch))
  nextSeq += batch.count
}

function readAll(reader: TelemetryReader, deviceId: number, range = ALL): GpsRecords {
  const { records, count } = reader.read(GPS, deviceId, range, (room) => GPS.allocate(room))
  return GPS.view(records, 0, count)
}

const times = fc.uniqueArray(fc.integer({ min: 1, max: 300 }), { maxLength: 60 })

test('a read and any page return the records of the range in order, from blocks, log or both', () => {
  fc.assert(
    fc.property(
      fc.record({
        sealed: times,
        logged: times,
        cuts: fc.array(fc.integer({ min: 0, max: 300 }), { maxLength: 5 }),
        range: fc.tuple(fc.integer({ min: 0, max: 310 }), fc.integer({ min: 0, max: 310 })),
        limit: fc.integer({ min: 1, max: 70 }),
      }),
      ({ sealed, logged, cuts, range: [fromMs, toMs], limit }) => {
        const tables = open()
        const ascending = sealed.sort((a, b) => a - b)
        let from = 0
        for (const cut of [...cuts.sort((a, b) => a - b), 301]) {
          const part = ascending.filter((atMs) => atMs >= from && atMs < cut)
          if (part.length > 0) putBlock(tables, 1, part)
          from = cut
        }
        const reader = new TelemetryReader(tables)
        for (let i = 0; i < logged.length; i += 7) {
          putLog(tables, 1, logged.slice(i, i + 7), 9)
          // reads in between: the cached log grows with them
          if (i % 2 === 0) readAll(reader, 1)
        }
        const inRange = [...new Set([...sealed, ...logged])]
          .filter((atMs) => atMs >= fromMs && atMs <= toMs)
          .sort((a, b) => a - b)
        const expected = gpsAt(inRange)
        // if both have a time, the record of the block wins
        for (const [i, atMs] of inRange.entries()) {
          if (!sealed.includes(atMs) && atMs % 3 !== 0) expected.speedMilliKmh[i] = 9
        }
        assert.deepEqual(readAll(reader, 1, { fromMs, toMs }), expected)
        const first = reader.page(GPS, 1, { fromMs, toMs, order: 'asc', limit })
        assert.deepEqual(first, GPS.view(expected, 0, Math.min(limit, inRange.length)))
        const last = reader.page(GPS, 1, { fromMs, toMs, order: 'desc', limit })
        assert.deepEqual(last, GPS.view(expected, Math.max(0, inRange.length - limit), inRange.length))
        const voltages = reader.page(BATTERY, 2, { ...ALL, order: 'asc', limit: 1000 })
        assert.deepEqual(
          [...voltages.voltageMv],
          logged.sort((a, b) => a - b),
        )
        assert.deepEqual(reader.takeUnreadable(), [])
        tables.close()
      },
    ),
    { numRuns: 200 },
  )
})

test('the reader sees rows removed from the log and rows added to it', () => {
  const tables = open()
  const reader = new TelemetryReader(tables)
  putLog(tables, 1, [10, 20])
  putLog(tables, 1, [30])
  assert.deepEqual([...readAll(reader, 1).atMs], [10, 20, 30])
  tables.run('DELETE FROM telemetry_log WHERE first_seq = (SELECT min(first_seq) FROM telemetry_log)')
  tables.run(LOG_TRUNCATED, 1)
  putLog(tables, 1, [5])
  assert.deepEqual([...readAll(reader, 1).atMs], [5, 30])
  tables.run('DELETE FROM telemetry_log')
  tables.run(LOG_TRUNCATED, 1)
  assert.deepEqual([...readAll(reader, 1).atMs], [])
  putLog(tables, 1, [40])
  assert.deepEqual([...readAll(reader, 1).atMs], [40])
})

test('a block with changed contents or of a newer program is skipped and reported', () => {
  const tables = open()
  putBlock(tables, 1, [1, 2, 3])
  const damaged = putBlock(tables, 1, [11, 12, 13])
  const newer = putBlock(tables, 1, [21, 22, 23])
  putBlock(tables, 1, [31, 32, 33])
  tables.run(
    "UPDATE telemetry_block SET records = CAST(substr(records, 1, 40) || x'ff' || substr(records, 42) AS BLOB) " +
      'WHERE block_id = ?',
    damaged,
  )
  tables.run('UPDATE telemetry_block SET records = ? WHERE block_id = ?', newerBlock(), newer)
  const reader = new TelemetryReader(tables)
  assert.deepEqual([...readAll(reader, 1).atMs], [1, 2, 3, 31, 32, 33])
  const expected = [
    { blockId: damaged, reason: 'wrong_checksum' },
    { blockId: newer, reason: 'newer_version' },
  ]
  assert.deepEqual(reader.takeUnreadable(), expected)
  assert.deepEqual(reader.takeUnreadable(), [])
  const page = reader.page(GPS, 1, { ...ALL, order: 'desc', limit: 5 })
  assert.deepEqual([...page.atMs], [2, 3, 31, 32, 33])
  assert.deepEqual(reader.takeUnreadable(), expected.toReversed())
})

/** Intact block with version 2 in its header. */
function newerBlock(): Uint8Array {
  const block = encodeBlock(GPS, gpsAt([21, 22, 23]))
  block[3] = 2
  const view = new DataView(block.buffer, block.byteOffset, block.byteLength)
  view.setUint32(block.length - 4, crc32(block.subarray(0, -4)), true)
  return block
}

test('a block whose row has a wrong count or stream is skipped without affecting others', () => {
  const tables = open()
  putBlock(tables, 1, [1, 2, 3])
  const short = putBlock(tables, 1, [11, 12, 13])
  const other = putBlock(tables, 1, [21, 22, 23])
  putBlock(tables, 1, [31, 32, 33])
  tables.run('UPDATE telemetry_block SET count = 1 WHERE block_id = ?', short)
  const voltages = { atMs: Float64Array.of(21, 22, 23), voltageMv: Int32Array.of(1, 2, 3) }
  tables.run('UPDATE telemetry_block SET records = ? WHERE block_id = ?', encodeBlock(BATTERY, voltages), other)
  const reader = new TelemetryReader(tables)
  const found = reader.read(GPS, 1, ALL, (room) => GPS.allocate(room * 2))
  assert.deepEqual([...found.records.atMs.subarray(0, found.count)], [1, 2, 3, 31, 32, 33])
  assert.deepEqual([...readAll(reader, 1).atMs], [1, 2, 3, 31, 32, 33])
  const reports = [short, other].map((blockId) => ({ blockId, reason: 'impossible_content' }))
  assert.deepEqual(reader.takeUnreadable(), [...reports, ...reports])
  const page = reader.page(GPS, 1, { fromMs: 20, toMs: 40, order: 'asc', limit: 5 })
  assert.deepEqual([...page.atMs], [31, 32, 33])
  assert.deepEqual(reader.takeUnreadable(), reports.slice(1))
})
