import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { encodeBlock } from '#shared/telemetry/block.ts'
import { BATTERY } from '#shared/telemetry/records.ts'
import { appendToLog, blocksIn, openTables, registerDevice } from '#testing/telemetry-tables.ts'
import { type BlockReplacement, dropLog, type NewBlock, replaceBlocks } from './blocks.ts'

const tables = openTables()
const { connection } = tables
after(tables.close)
beforeEach(() => {
  for (const table of ['telemetry_log', 'telemetry_block', 'device']) connection.run(`DELETE FROM ${table}`)
  registerDevice(connection, 1)
})

function blockOf(...times: number[]): NewBlock {
  const atMs = Float64Array.from(times)
  const records = encodeBlock(BATTERY, { atMs, voltageMv: Int32Array.from(times) })
  return { firstMs: times[0] ?? 0, lastMs: times.at(-1) ?? 0, count: times.length, records }
}

function replace(...replacements: Partial<BlockReplacement>[]): void {
  const whole = replacements.map((one) => ({
    deviceId: 1,
    stream: 'battery' as const,
    removes: [],
    adds: [],
    ...one,
  }))
  connection.db.transaction(() => replaceBlocks(connection, { replacements: whole, throughSeq: 1 }))()
}

const timesIn = () => blocksIn(connection).map(({ firstMs, lastMs, count }) => [firstMs, lastMs, count])

test('blocks replace others, under new numbers', () => {
  replace({ adds: [blockOf(1, 2), blockOf(5)] })
  const [old] = blocksIn(connection)
  assert.ok(old)
  replace({ removes: [old.blockId], adds: [blockOf(1, 2, 3), blockOf(4)] })
  assert.deepEqual(timesIn(), [
    [1, 3, 3],
    [4, 4, 1],
    [5, 5, 1],
  ])
  assert.ok(blocksIn(connection).every(({ blockId }) => blockId > old.blockId))
})

test('a plan based on outdated blocks is rejected as a whole', () => {
  replace({ adds: [blockOf(1, 2), blockOf(5, 9)] })
  const before = timesIn()
  const [first, second] = blocksIn(connection)
  const gone = { removes: [(second?.blockId ?? 0) + 1000], adds: [blockOf(20)] }
  assert.throws(() => replace({ adds: [blockOf(30)] }, gone), /it was deleted/)
  assert.throws(() => replace({ stream: 'gps', removes: [first?.blockId ?? 0] }), /it was deleted/)
  for (const overlapping of [blockOf(2, 3), blockOf(0, 1), blockOf(6, 7), blockOf(3, 12), blockOf(9)]) {
    assert.throws(() => replace({ adds: [blockOf(30), overlapping] }), /overlaps/)
  }
  assert.throws(() => replace({ adds: [blockOf(30, 32), blockOf(31)] }), /overlaps/)
  assert.deepEqual(timesIn(), before)
})

test('a deleted device gets no blocks, and the others do', () => {
  replace({ adds: [blockOf(1)] })
  const [old] = blocksIn(connection)
  connection.run('DELETE FROM device')
  registerDevice(connection, 2)
  replace({ removes: [old?.blockId ?? 0], adds: [blockOf(1, 2)] }, { deviceId: 2, adds: [blockOf(7)] })
  assert.deepEqual(timesIn(), [
    [1, 1, 1],
    [7, 7, 1],
  ])
})

const samples = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ deviceId: 1, atMs: i, streams: 'both' as const, value: i }))

function rowsInLog(): number[] {
  return connection
    .all<{ firstSeq: number }>('SELECT first_seq AS firstSeq FROM telemetry_log ORDER BY first_seq')
    .map(({ firstSeq }) => firstSeq)
}

const nextSeq = () => connection.get<{ next: number }>('SELECT next_seq AS next FROM telemetry_log_end')?.next ?? 0

test('the log is truncated in steps, except rows to keep and rows outside the range', () => {
  const seqs = Array.from({ length: 10 }, () => appendToLog(connection, samples(2)))
  const at = (i: number) => seqs[i] ?? 0
  const drop = { fromSeq: at(1), throughSeq: at(7) + 1, keptSeqs: [at(3)], limit: 4 }
  assert.deepEqual(dropLog(connection, drop), { isDone: false })
  assert.deepEqual(rowsInLog(), [0, 3, 6, 7, 8, 9].map(at))
  assert.deepEqual(dropLog(connection, drop), { isDone: true })
  assert.deepEqual(rowsInLog(), [0, 3, 8, 9].map(at))
  assert.deepEqual(dropLog(connection, drop), { isDone: true })
  assert.deepEqual(rowsInLog(), [0, 3, 8, 9].map(at))
})

test('a step drops no more than a few large rows', () => {
  for (let i = 0; i < 4; i++) appendToLog(connection, samples(30_000))
  const drop = { fromSeq: 0, throughSeq: Number.MAX_SAFE_INTEGER - 1, limit: 1000 }
  assert.deepEqual(dropLog(connection, drop), { isDone: false })
  assert.equal(rowsInLog().length, 2)
})

test('sequence numbers are not reused after the log was truncated', () => {
  const firstSeq = appendToLog(connection, samples(5))
  dropLog(connection, { fromSeq: 0, throughSeq: firstSeq + 4, limit: 10 })
  assert.equal(nextSeq(), firstSeq + 5)
  dropLog(connection, { fromSeq: 0, throughSeq: firstSeq, limit: 10 })
  assert.equal(nextSeq(), firstSeq + 5)
})
