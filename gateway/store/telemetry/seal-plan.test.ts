import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { MAX_BLOCK_RECORDS, verifyBlock } from '#shared/telemetry/block.ts'
import {
  appendToLog,
  blocksIn,
  openTables,
  recordKey,
  recordsIn,
  registerDevice,
  setFirst,
  type TestSample,
} from '#testing/telemetry-tables.ts'
import { dropLog, replaceBlocks } from './blocks.ts'
import type { WriterTables } from './log-tail.ts'
import { planSealing, type SealPlan } from './seal-plan.ts'
import { MAX_SHORT_BLOCKS } from './seal-stream.ts'

const NOON_MS = Date.UTC(2026, 4, 1, 12)
const DEVICES = [1, 2, 3]
const GONE = 9

const tables = openTables()
const { connection } = tables
after(tables.close)
for (const deviceId of DEVICES) registerDevice(connection, deviceId)

function empty(): void {
  for (const table of ['telemetry_log', 'telemetry_block']) connection.run(`DELETE FROM ${table}`)
}

interface Sealing {
  fromSeq?: number
  maxSamples?: number
  /** Number of replacements applied before the power fails. */
  replacements?: number
  isLogDropped?: boolean
}

/** Plans and applies one pass with all its parts; returns the plans. */
function seal(from: WriterTables, options: Sealing = {}): SealPlan[] {
  const { fromSeq = 0, maxSamples = 250_000, replacements = Number.POSITIVE_INFINITY, isLogDropped = true } = options
  const plans: SealPlan[] = []
  let left = replacements
  let throughSeq = Number.MAX_SAFE_INTEGER
  let afterDeviceId: number | null = null
  do {
    const plan = planSealing(from, { fromSeq, throughSeq, maxSamples, afterDeviceId })
    plans.push(plan)
    throughSeq = plan.throughSeq ?? throughSeq
    const applied = plan.replacements.slice(0, left)
    // each in a transaction of its own
    for (const replacement of applied) {
      from.db.transaction(() => replaceBlocks(from, { replacements: [replacement], throughSeq: 1 }))()
    }
    left -= applied.length
    afterDeviceId = plan.lastDeviceId
  } while (afterDeviceId !== null)
  const [first] = plans
  if (left > 0 && isLogDropped && first !== undefined && first.throughSeq !== null) {
    const keptSeqs = plans.flatMap((plan) => plan.keptSeqs)
    while (!dropLog(from, { fromSeq, throughSeq: first.throughSeq, keptSeqs, limit: 3 }).isDone);
  }
  return plans
}

function replacementsOf(plans: readonly SealPlan[]) {
  return plans.flatMap((plan) => plan.replacements)
}

function assertBlocksAreWhole(): void {
  let before: ReturnType<typeof blocksIn>[number] | undefined
  const small = new Map<string, number>()
  for (const block of blocksIn(connection)) {
    const { deviceId, stream, firstMs, lastMs, count } = block
    assert.deepEqual({ version: 1, kind: stream, count, firstMs, lastMs }, { ...verifyBlock(block.records) })
    if (before?.deviceId === deviceId && before.stream === stream) assert.ok(before.lastMs < firstMs, 'an overlap')
    before = block
    const key = `${deviceId} ${stream}`
    if (count < MAX_BLOCK_RECORDS / 2) small.set(key, (small.get(key) ?? 0) + 1)
  }
  for (const [key, blocks] of small) assert.ok(blocks <= MAX_SHORT_BLOCKS + 1, `${blocks} small blocks of ${key}`)
}

const streams = fc.constantFrom('gps' as const, 'battery' as const, 'both' as const)
const device = fc.constantFrom(...DEVICES, GONE)
let values = 0

/** A few readings in any order, with repeated times. */
const readings = fc
  .array(fc.record({ deviceId: device, minute: fc.nat(300), streams }), { minLength: 1, maxLength: 30 })
  .map((all) =>
    all.map(({ deviceId, minute, streams: of }) => ({
      deviceId,
      atMs: NOON_MS + minute * 60_000,
      streams: of,
    })),
  )

/** Long ride, whose times may be those of others too. */
const ride = fc
  .record({
    deviceId: device,
    minute: fc.nat(300),
    stepMs: fc.constantFrom(7, 1000, 20_000),
    count: fc.integer({ min: 1, max: 5000 }),
    streams,
    isBackwards: fc.boolean(),
  })
  .map(({ deviceId, minute, stepMs, count, streams: of, isBackwards }) => {
    const all = Array.from({ length: count }, (_, i) => ({
      deviceId,
      atMs: NOON_MS + minute * 60_000 + i * stepMs,
      streams: of,
    }))
    return isBackwards ? all.reverse() : all
  })

const event = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('append' as const), samples: readings }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('append' as const), samples: ride }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('seal' as const),
      maxSamples: fc.constantFrom(1, 50, 5000, 250_000),
      replacements: fc.oneof(fc.constant(Number.POSITIVE_INFINITY), fc.nat(4)),
      isLogDropped: fc.boolean(),
    }),
  },
)

test('sealing keeps each record exactly once with its first values, wherever it is interrupted', () => {
  fc.assert(
    fc.property(fc.array(event, { minLength: 1, maxLength: 25 }), (events) => {
      empty()
      const expected = new Map<string, number>()
      for (const one of events) {
        if (one.kind === 'seal') {
          seal(connection, one)
          assertBlocksAreWhole()
          continue
        }
        const samples: TestSample[] = one.samples.map((sample) => ({ ...sample, value: ++values % 60_000 }))
        appendToLog(connection, samples)
        for (const { deviceId, atMs, streams: of, value } of samples) {
          if (deviceId === GONE) continue
          if (of !== 'battery') setFirst(expected, recordKey(deviceId, 'gps', atMs), value)
          if (of !== 'gps') setFirst(expected, recordKey(deviceId, 'battery', atMs), value)
        }
      }
      const found = recordsIn(connection)
      for (const key of found.keys()) if (key.startsWith(`${GONE} `)) found.delete(key)
      assert.equal(found.size, expected.size)
      for (const [key, value] of expected) assert.equal(found.get(key), value, key)
      seal(connection)
      assertBlocksAreWhole()
      assert.deepEqual(connection.all('SELECT first_seq FROM telemetry_log'), [])
      const sealed = recordsIn(connection)
      assert.equal(sealed.size, expected.size)
      for (const [key, value] of expected) assert.equal(sealed.get(key), value, key)
    }),
    { numRuns: 60 },
  )
})

function samplesOf(deviceId: number, fromMs: number, count: number, stepMs = 1000): TestSample[] {
  return Array.from({ length: count }, (_, i) => ({
    deviceId,
    atMs: fromMs + i * stepMs,
    streams: 'gps',
    value: i + 1,
  }))
}

function countsIn(): number[] {
  return blocksIn(connection).map(({ count }) => count)
}

test('a plan made again after it was applied changes nothing', () => {
  empty()
  appendToLog(connection, samplesOf(1, NOON_MS, 3000))
  appendToLog(connection, samplesOf(2, NOON_MS, 10))
  assert.equal(replacementsOf(seal(connection, { isLogDropped: false })).length, 3)
  assert.deepEqual(replacementsOf(seal(connection, { isLogDropped: false })), [])
  appendToLog(connection, samplesOf(1, NOON_MS - 500, 2990))
  assert.notDeepEqual(replacementsOf(seal(connection, { isLogDropped: false })), [])
  assert.deepEqual(replacementsOf(seal(connection)), [])
})

test('short blocks at the end are merged like a binary counter', () => {
  empty()
  const shapes = Array.from({ length: 8 }, (_, i) => {
    appendToLog(connection, samplesOf(1, NOON_MS + i * 1e6, 100))
    seal(connection)
    return countsIn()
  })
  assert.deepEqual(shapes, [[100], [200], [200, 100], [400], [400, 100], [400, 200], [400, 200, 100], [800]])
  appendToLog(connection, samplesOf(1, NOON_MS + 8e6, 2048 - 800 + 5))
  seal(connection)
  assert.deepEqual(countsIn(), [2048, 5])
})

test('a record is written about three times until it is in a full block', () => {
  empty()
  let written = 0
  for (let pass = 0; pass < 50; pass++) {
    appendToLog(connection, samplesOf(1, NOON_MS + pass * 160_000, 160))
    for (const { adds } of replacementsOf(seal(connection))) {
      for (const { count } of adds) written += count
    }
  }
  const kept = recordsIn(connection).size
  assert.equal(kept, 50 * 160)
  assert.ok(written < 3.5 * kept, `${written} records written for ${kept}`)
})

test('too many short blocks that do not halve are merged into one', () => {
  empty()
  for (let i = 0; i < 16; i++) {
    appendToLog(connection, samplesOf(1, NOON_MS + i * 1e6, 100 - i))
    seal(connection)
  }
  assert.ok(countsIn().length <= MAX_SHORT_BLOCKS, `${countsIn()}`)
})

test('a late record splits the full block it belongs to', () => {
  empty()
  appendToLog(connection, samplesOf(1, NOON_MS, 3 * 2048))
  seal(connection)
  const before = blocksIn(connection)
  appendToLog(connection, samplesOf(1, NOON_MS + 2500 * 1000 + 1, 1))
  seal(connection)
  assert.deepEqual(countsIn(), [2048, 1025, 1024, 2048])
  assert.deepEqual(
    [0, 3].map((i) => blocksIn(connection)[i]?.blockId),
    [before[0]?.blockId, before[2]?.blockId],
  )
})

test('a long late ride between two blocks gets separate blocks; a short one joins the block before it', () => {
  empty()
  appendToLog(connection, samplesOf(1, NOON_MS, 2048))
  appendToLog(connection, samplesOf(1, NOON_MS + 1e8, 2048))
  seal(connection)
  appendToLog(connection, samplesOf(1, NOON_MS + 1e7, 1500))
  const [plan] = seal(connection)
  assert.deepEqual(
    plan?.replacements.map(({ removes, adds }) => [removes.length, adds.length]),
    [[0, 1]],
  )
  assert.deepEqual(countsIn(), [2048, 1500, 2048])
  appendToLog(connection, samplesOf(1, NOON_MS + 3e7, 20))
  seal(connection)
  assert.deepEqual(countsIn(), [2048, 1520, 2048])
})

test('records before the first block join it', () => {
  empty()
  appendToLog(connection, samplesOf(1, NOON_MS, 2048))
  seal(connection)
  for (let i = 1; i < 30; i++) {
    appendToLog(connection, samplesOf(1, NOON_MS - i * 1e6, 3))
    seal(connection)
  }
  assert.equal(countsIn().length, 2)
  assert.equal(recordsIn(connection).size, 2048 + 29 * 3)
})

test('a plan of many devices arrives in parts, which together are the whole', () => {
  empty()
  const ids = Array.from({ length: 80 }, (_, i) => 100 + i)
  for (const deviceId of ids) {
    registerDevice(connection, deviceId)
    // values that hardly compress, of both streams
    const samples = samplesOf(deviceId, NOON_MS, 3000).map((sample) => ({
      ...sample,
      streams: 'both' as const,
      atMs: sample.atMs + ((sample.value * 7919) % 1000),
      value: (Math.imul(sample.value, 0x9e37_79b1) >>> 2) & 0x1fff_ffff,
    }))
    appendToLog(connection, samples)
  }
  const plans = seal(connection)
  assert.ok(plans.length > 1, 'one part')
  assert.equal(recordsIn(connection).size, ids.length * 6000)
  assertBlocksAreWhole()
  for (const deviceId of ids) connection.run('DELETE FROM device WHERE device_id = ?', deviceId)
})

test('a later part is rejected when the log has changed', () => {
  empty()
  const seq = appendToLog(connection, samplesOf(1, NOON_MS, 10))
  const request = { fromSeq: 0, throughSeq: seq + 9, maxSamples: 100, afterDeviceId: 1 }
  planSealing(connection, request)
  connection.run("UPDATE telemetry_log SET samples = x'00'")
  assert.throws(() => planSealing(connection, request), /log has changed since the plan was started/)
})

test('a record before the first block is sealed with a new ride, however many short blocks there are', () => {
  for (const blocks of [15, 16, 17]) {
    empty()
    // each with a block of its own, before the existing ones
    for (let i = blocks; i > 0; i--) {
      appendToLog(connection, samplesOf(1, NOON_MS + i * 1e7, 1100))
      seal(connection)
    }
    assert.equal(countsIn().length, blocks)
    appendToLog(connection, [...samplesOf(1, NOON_MS, 1), ...samplesOf(1, NOON_MS + (blocks + 1) * 1e7, 10)])
    seal(connection)
    assert.equal(recordsIn(connection).size, blocks * 1100 + 11)
    assert.equal(
      countsIn().reduce((sum, count) => sum + count, 0),
      blocks * 1100 + 11,
    )
  }
})
