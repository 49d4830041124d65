import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import Database from 'better-sqlite3'
import { encodeBlock } from '#shared/telemetry/block.ts'
import { BATTERY } from '#shared/telemetry/records.ts'
import { Connection } from '#store/db/connection.ts'
import { migrate } from '#store/migrate.ts'
import { allocateBatch, encodeBatch, HAS_BATTERY } from '#store/telemetry/batch.ts'
import { inspectDatabase } from './telemetry-files.ts'

let db: Database.Database

beforeEach(() => {
  db = new Database(':memory:')
  migrate(new Connection(db))
  db.exec(`INSERT INTO device (device_id, hardware_id, short_id, device_type, created_at_ms, updated_at_ms,
    mqtt_password_hash)
    VALUES (7, 'cart', 'k3v9x2qa', 'teebox', 0, 0, '')`)
  db.exec(`INSERT INTO device_state (device_id, latest, updated_at_ms) VALUES (7, '{}', 0)`)
})
afterEach(() => db.close())

function addBlock(times: number[], { firstMs = times[0], damaged = false } = {}): void {
  const records = encodeBlock(BATTERY, {
    atMs: Float64Array.from(times),
    voltageMv: Int32Array.from(times, () => 51_000),
  })
  if (damaged) records[records.length - 1] = (records.at(-1) ?? 0) ^ 1
  db.prepare(
    "INSERT INTO telemetry_block (device_id, stream, first_ms, last_ms, count, records) VALUES (7, 'battery', " +
      '?, ?, ?, ?)',
  ).run(firstMs, times.at(-1), times.length, records)
}

function addLogRow(firstSeq: number, times: number[]): void {
  const batch = allocateBatch(times.length)
  batch.deviceId.fill(7)
  batch.atMs.set(times)
  batch.streams.fill(HAS_BATTERY)
  db.prepare('INSERT INTO telemetry_log (first_seq, samples) VALUES (?, ?)').run(firstSeq, encodeBatch(batch))
}

/** Marks the whole log as saved, and sets the count in the device row. */
function count(records: number): void {
  db.exec('UPDATE telemetry_log_end SET saved_seq = ifnull((SELECT max(first_seq) FROM telemetry_log), 0)')
  db.prepare('UPDATE device_state SET battery_count = ?').run(records)
}

test('a log whose records are partly in blocks is an unfinished pass, and not a fault', () => {
  addBlock([1000, 2000])
  addBlock([3000])
  addLogRow(1, [2000, 3000, 4000])
  count(4)
  assert.deepEqual(inspectDatabase(db), { faults: [], blocks: 2, logRows: 1, inBoth: 2 })
})

test('blocks that overlap, are damaged or differ from their row are faults', () => {
  addBlock([1000, 3000])
  addBlock([2000, 4000])
  count(4)
  assert.deepEqual(inspectDatabase(db).faults, ['block 2 (battery of device 7) overlaps block 1'])
  db.exec('DELETE FROM telemetry_block')
  addBlock([1000, 2000], { firstMs: 500 })
  count(2)
  assert.deepEqual(inspectDatabase(db).faults, ['block 3 (battery of device 7) differs from its row'])
  db.exec('DELETE FROM telemetry_block')
  addBlock([1000], { damaged: true })
  count(0)
  assert.match(inspectDatabase(db).faults.join(), /^block 4 \(battery of device 7\): DamagedBlockError/)
})

test('a record that is twice in the log and a sequence that goes back are faults', () => {
  addLogRow(1, [1000, 2000])
  addLogRow(2, [2000])
  count(2)
  assert.deepEqual(inspectDatabase(db).faults, [
    'log row 2 begins before 3',
    'battery of device 7 at 2000 is in the log twice',
  ])
})

test('a count that differs from the number of records is a fault', () => {
  addBlock([1000, 2000])
  addLogRow(1, [2000, 3000])
  count(4)
  assert.deepEqual(inspectDatabase(db).faults, ['3 battery records of device 7, 4 counted'])
})

test('log records that the row does not count yet are counted as well', () => {
  addBlock([1000, 2000])
  count(2)
  addLogRow(1, [3000])
  assert.deepEqual(inspectDatabase(db).faults, [])
})
