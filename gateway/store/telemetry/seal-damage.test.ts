import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { crc32 } from 'node:zlib'
import { encodeBlock, MAX_BLOCK_RECORDS } from '#shared/telemetry/block.ts'
import { GPS } from '#shared/telemetry/records.ts'
import {
  appendToLog,
  batchOf,
  blocksIn,
  openTables,
  recordsIn,
  registerDevice,
  type TestSample,
} from '#testing/telemetry-tables.ts'
import { encodeBatch } from './batch.ts'
import { type BlockReplacement, dropLog, replaceBlocks } from './blocks.ts'
import { quarantineLogRow } from './log-row.ts'
import { planSealing, type SealPlan } from './seal-plan.ts'

const NOON_MS = Date.UTC(2026, 4, 1, 12)

const tables = openTables()
const { connection } = tables
after(tables.close)
beforeEach(() => {
  for (const table of ['telemetry_log', 'telemetry_block', 'damaged_block', 'device']) {
    connection.run(`DELETE FROM ${table}`)
  }
  for (const deviceId of [1, 2]) registerDevice(connection, deviceId)
})

function samplesOf(deviceId: number, fromMs: number, count: number): TestSample[] {
  return Array.from({ length: count }, (_, i) => ({
    deviceId,
    atMs: fromMs + i * 1000,
    streams: 'gps',
    value: i + 1,
  }))
}

function plan(fromSeq = 0): SealPlan {
  const throughSeq = Number.MAX_SAFE_INTEGER
  return planSealing(connection, { fromSeq, throughSeq, maxSamples: 250_000, afterDeviceId: null })
}

function apply({ replacements, throughSeq, keptSeqs }: SealPlan, fromSeq = 0): void {
  replaceBlocks(connection, { replacements, throughSeq: 1 })
  if (throughSeq !== null) dropLog(connection, { fromSeq, throughSeq, keptSeqs, limit: 1000 })
}

function rowsInLog(): number[] {
  return connection
    .all<{ firstSeq: number }>('SELECT first_seq AS firstSeq FROM telemetry_log ORDER BY first_seq')
    .map(({ firstSeq }) => firstSeq)
}

/** Changes the bytes of a device's block; with `isSigned` it gets a correct checksum. */
function changeBlock(blockId: number, change: (bytes: Buffer) => void, isSigned: boolean): void {
  const row = connection.get<{ records: Buffer }>('SELECT records FROM telemetry_block WHERE block_id = ?', blockId)
  assert.ok(row)
  change(row.records)
  if (isSigned) sign(row.records)
  connection.run('UPDATE telemetry_block SET records = ? WHERE block_id = ?', row.records, blockId)
}

function sign(bytes: Buffer): void {
  bytes.writeUInt32LE(crc32(bytes.subarray(0, -4)), bytes.length - 4)
}

/** Full block, as if it had been stored alone. */
function fullBlock(deviceId: number, firstMs: number): BlockReplacement {
  const records = GPS.allocate(MAX_BLOCK_RECORDS)
  records.atMs.forEach((_, i, atMs) => {
    atMs[i] = firstMs + i * 1000
  })
  const lastMs = firstMs + (MAX_BLOCK_RECORDS - 1) * 1000
  const bytes = encodeBlock(GPS, records)
  return {
    deviceId,
    stream: 'gps',
    removes: [],
    adds: [{ firstMs, lastMs, count: MAX_BLOCK_RECORDS, records: bytes }],
  }
}

/** Sets the version of a block to a later one. */
function makeNewer(blockId: number): void {
  changeBlock(blockId, (bytes) => bytes.writeUInt8(2, 3), true)
}

test('a damaged block is reported, and its stream waits while others are planned', () => {
  appendToLog(connection, [...samplesOf(1, NOON_MS, 10), ...samplesOf(2, NOON_MS, 10)])
  apply(plan())
  const [damaged] = blocksIn(connection)
  assert.ok(damaged)
  changeBlock(damaged.blockId, (bytes) => bytes.writeUInt8(bytes.readUInt8(40) ^ 1, 40), false)
  appendToLog(connection, [...samplesOf(1, NOON_MS + 1e6, 20), ...samplesOf(2, NOON_MS + 1e6, 20)])
  const waiting = plan()
  assert.deepEqual(waiting.unreadable, [{ blockId: damaged.blockId, reason: 'wrong_checksum' }])
  assert.deepEqual([...new Set(waiting.replacements.map(({ deviceId }) => deviceId))], [2])
  connection.run('DELETE FROM telemetry_block WHERE block_id = ?', damaged.blockId)
  const going = plan()
  assert.deepEqual(going.unreadable, [])
  apply(going)
  assert.equal(recordsIn(connection).size, 20 + 30)
})

test('a block that does not match its row is reported', () => {
  appendToLog(connection, samplesOf(1, NOON_MS, 10))
  apply(plan())
  connection.run('UPDATE telemetry_block SET count = 9')
  appendToLog(connection, samplesOf(1, NOON_MS + 1e6, 20))
  assert.deepEqual(
    plan().unreadable.map(({ reason }) => reason),
    ['impossible_content'],
  )
})

test('records after a block of a newer version get separate blocks', () => {
  appendToLog(connection, samplesOf(1, NOON_MS, 10))
  apply(plan())
  const [newer] = blocksIn(connection)
  assert.ok(newer)
  makeNewer(newer.blockId)
  for (let i = 1; i <= 8; i++) {
    appendToLog(connection, samplesOf(1, NOON_MS + i * 1e6, 20))
    apply(plan())
  }
  assert.deepEqual(
    blocksIn(connection).map(({ count }) => count),
    [10, 160],
  )
  assert.deepEqual(rowsInLog(), [])
})

test('late records of a time that a newer block covers stay in the log, and other records do not', () => {
  appendToLog(connection, samplesOf(1, NOON_MS, 10))
  apply(plan())
  replaceBlocks(connection, { replacements: [fullBlock(1, NOON_MS + 1e6)], throughSeq: 1 })
  const [newer] = blocksIn(connection)
  assert.ok(newer)
  makeNewer(newer.blockId)
  appendToLog(connection, samplesOf(1, NOON_MS - 5000, 2))
  const stuck = appendToLog(connection, [...samplesOf(1, NOON_MS + 500, 3), ...samplesOf(2, NOON_MS, 5)])
  appendToLog(connection, samplesOf(1, NOON_MS + 20_000, 2))
  appendToLog(connection, samplesOf(1, NOON_MS + 9e6, 2))
  const planned = plan()
  assert.deepEqual(planned.keptSeqs, [stuck])
  assert.deepEqual(planned.unreadable[0], { blockId: newer.blockId, reason: 'newer_version' })
  apply(planned)
  assert.deepEqual(rowsInLog(), [stuck])
  assert.deepEqual(
    blocksIn(connection).map(({ deviceId, count }) => [deviceId, count]),
    [
      [1, 2],
      [1, 10],
      [1, 2],
      [1, 2048],
      [1, 2],
      [2, 5],
    ],
  )
  // later records do not touch it, and it is replaced once it can be read
  const throughSeq = planned.throughSeq ?? 0
  appendToLog(connection, samplesOf(2, NOON_MS + 1e6, 5))
  apply(plan(throughSeq + 1), throughSeq + 1)
  assert.deepEqual(rowsInLog(), [stuck])
  changeBlock(newer.blockId, (bytes) => bytes.writeUInt8(1, 3), true)
  apply(plan())
  assert.deepEqual(rowsInLog(), [])
  assert.equal(recordsIn(connection).size, 10 + 2048 + 2 + 3 + 5 + 2 + 2 + 5)
})

const SOME = samplesOf(1, NOON_MS, 3)

function bytesOf(change: (bytes: Buffer) => void): Buffer {
  const bytes = Buffer.from(encodeBatch(batchOf(SOME)))
  change(bytes)
  return bytes
}

const damages: [name: string, reason: string, bytes: Buffer][] = [
  ['of no bytes', 'wrong_length', Buffer.alloc(0)],
  ['of other bytes', 'not_a_block', bytesOf((bytes) => bytes.fill(7))],
  ['with a bit that turned', 'wrong_checksum', bytesOf((bytes) => bytes.writeUInt8(bytes.readUInt8(30) ^ 1, 30))],
  [
    'with a time no block can hold',
    'impossible_content',
    bytesOf((bytes) => {
      bytes.writeDoubleLE(0.5, 8)
      sign(bytes)
    }),
  ],
  [
    'with a latitude no block can hold',
    'impossible_content',
    bytesOf((bytes) => {
      bytes.writeInt32LE(900_000_001, 8 + 3 * 12)
      sign(bytes)
    }),
  ],
]

for (const [name, reason, bytes] of damages) {
  test(`a log row ${name} ends the plan before it, and is kept when it is quarantined`, () => {
    const before = appendToLog(connection, samplesOf(1, NOON_MS, 10))
    const seq = appendToLog(connection, SOME)
    connection.run('UPDATE telemetry_log SET samples = ? WHERE first_seq = ?', bytes, seq)
    const behind = appendToLog(connection, samplesOf(1, NOON_MS + 1e6, 10))
    const first = plan()
    assert.deepEqual([first.damagedSeq, first.throughSeq], [null, before + 9])
    apply(first)
    const stopped = plan()
    assert.deepEqual([stopped.damagedSeq, stopped.throughSeq, stopped.replacements], [seq, null, []])
    assert.equal(quarantineLogRow(connection, { firstSeq: behind, nowMs: NOON_MS }), false)
    assert.equal(quarantineLogRow(connection, { firstSeq: seq, nowMs: NOON_MS }), true)
    assert.equal(quarantineLogRow(connection, { firstSeq: seq, nowMs: NOON_MS }), false)
    apply(plan())
    assert.equal(recordsIn(connection).size, 20)
    const kept = connection.all<{ reason: string; records: Buffer }>('SELECT reason, records FROM damaged_block')
    assert.deepEqual(kept, [{ reason, records: bytes }])
  })
}

test('log rows of a newer version stay, and those around them are sealed', () => {
  const newer: number[] = []
  for (let i = 0; i < 6; i++) {
    const seq = appendToLog(connection, samplesOf(1, NOON_MS + i * 1e6, 10))
    if (i % 2 > 0) continue
    newer.push(seq)
    const row = connection.get<{ samples: Buffer }>('SELECT samples FROM telemetry_log WHERE first_seq = ?', seq)
    assert.ok(row)
    row.samples.writeUInt8(2, 3)
    sign(row.samples)
    connection.run('UPDATE telemetry_log SET samples = ? WHERE first_seq = ?', row.samples, seq)
    assert.equal(quarantineLogRow(connection, { firstSeq: seq, nowMs: NOON_MS }), false)
  }
  const planned = plan()
  assert.deepEqual([planned.keptSeqs, planned.damagedSeq], [newer, null])
  apply(planned)
  assert.deepEqual(rowsInLog(), newer)
  assert.deepEqual(
    blocksIn(connection).map(({ count }) => count),
    [30],
  )
  const again = plan((planned.throughSeq ?? 0) + 1)
  assert.equal(again.throughSeq, null)
})
