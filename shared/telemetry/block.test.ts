import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createRandom } from '#shared/random.ts'
import { DAY_MS } from '#shared/time.ts'
import { decodeBlock, decodeBlockRange, encodeBlock, MAX_BLOCK_RECORDS, verifyBlock } from './block.ts'
import {
  BATTERY,
  type BatteryRecords,
  GPS,
  type GpsRecords,
  NO_SPEED,
  type RecordKind,
  type Records,
} from './records.ts'

const YEAR_2100_MS = Date.UTC(2100, 0, 1)
const MAX_INT32 = 2 ** 31 - 1

const intervalMs = fc.oneof(
  fc.constant(1000),
  fc.constant(1),
  fc.integer({ min: 950, max: 1050 }),
  fc.integer({ min: 1, max: 600 }).map((s) => s * 1000),
  fc.integer({ min: 1, max: 20 * 365 }).map((days) => days * DAY_MS + 1),
)
const latE7 = fc.oneof(
  fc.constantFrom(-900_000_000, 900_000_000, 0),
  fc.integer({ min: 284_090_000, max: 284_095_000 }),
  fc.integer({ min: -900_000_000, max: 900_000_000 }),
)
const longE7 = fc.oneof(
  fc.constantFrom(-1_800_000_000, 1_800_000_000, 1_799_999_999, 0),
  fc.integer({ min: -815_810_000, max: -815_800_000 }),
  fc.integer({ min: -1_800_000_000, max: 1_800_000_000 }),
)
const speedMilliKmh = fc.oneof(
  fc.constantFrom(NO_SPEED, 0, 1, MAX_INT32),
  fc.integer({ min: 0, max: 250 }).map((tenths) => tenths * 100),
  fc.integer({ min: 0, max: 200_000 }),
)
const voltageMv = fc.oneof(
  fc.constantFrom(0, 120_000, MAX_INT32),
  fc.integer({ min: 4600, max: 5800 }).map((v) => v * 10),
)

/** A reading that may come several times in a row, so that there are runs of equal values and full blocks. */
function runs<T>(reading: fc.Arbitrary<T>): fc.Arbitrary<T[]> {
  const run = fc.record({ reading, times: fc.oneof(fc.constant(1), fc.integer({ min: 2, max: 100 })) })
  return fc
    .array(run, { minLength: 1, maxLength: 80 })
    .map((all) => all.flatMap(({ reading, times }) => Array<T>(times).fill(reading)))
}

/** Times that begin at `firstMs` and end before 2100. */
function timesFrom(firstMs: number, intervalsMs: readonly number[]): Float64Array {
  const times = [firstMs]
  let time = firstMs
  for (const interval of intervalsMs.slice(0, MAX_BLOCK_RECORDS - 1)) {
    time += interval
    if (time >= YEAR_2100_MS) break
    times.push(time)
  }
  return Float64Array.from(times)
}

const firstMs = fc.integer({ min: 0, max: YEAR_2100_MS })

/** Every value either wanders a little from the one before or is a new one, anywhere. */
const gpsRecords: fc.Arbitrary<GpsRecords> = fc
  .tuple(firstMs, runs(fc.record({ intervalMs, latE7, longE7, speedMilliKmh })))
  .map(([first, readings]) => {
    const atMs = timesFrom(
      first,
      readings.slice(1).map((one) => one.intervalMs),
    )
    const kept = readings.slice(0, atMs.length)
    return {
      atMs,
      latE7: Int32Array.from(kept, (one) => one.latE7),
      longE7: Int32Array.from(kept, (one) => one.longE7),
      speedMilliKmh: Int32Array.from(kept, (one) => one.speedMilliKmh),
    }
  })

const batteryRecords: fc.Arbitrary<BatteryRecords> = fc
  .tuple(firstMs, runs(fc.record({ intervalMs, voltageMv })))
  .map(([first, readings]) => {
    const atMs = timesFrom(
      first,
      readings.slice(1).map((one) => one.intervalMs),
    )
    return { atMs, voltageMv: Int32Array.from(readings.slice(0, atMs.length), (one) => one.voltageMv) }
  })

function decode<R extends Records>(kind: RecordKind<R>, block: Uint8Array): R {
  const records = kind.allocate(MAX_BLOCK_RECORDS)
  return kind.view(records, 0, decodeBlock(kind, block, records))
}

/** Positions of a cart that drives and parks, with the errors of a receiver; the same every time. */
function drive(count: number): GpsRecords {
  const random = createRandom('drive').next
  const records = GPS.allocate(count)
  let [lat, long, heading] = [28.41, -81.58, 0]
  for (let i = 0; i < count; i++) {
    const speedKmh = i % 300 < 150 ? 18 + random() : 0
    heading += (random() - 0.5) / 4
    lat += ((speedKmh / 3.6) * Math.cos(heading)) / 111_195
    long += ((speedKmh / 3.6) * Math.sin(heading)) / 98_000
    records.atMs[i] = Date.UTC(2026, 4, 1, 12) + i * 1000
    records.latE7[i] = Math.round(lat * 1e7 + (random() - 0.5) * 100)
    records.longE7[i] = Math.round(long * 1e7 + (random() - 0.5) * 100)
    records.speedMilliKmh[i] = Math.round(speedKmh * 10) * 100
  }
  return records
}

test('positions are decoded exactly as written, for any place and time', () => {
  fc.assert(
    fc.property(gpsRecords, (records) => {
      assert.deepEqual(decode(GPS, encodeBlock(GPS, records)), records)
    }),
    { numRuns: 300 },
  )
})

test('voltages are decoded exactly as written', () => {
  fc.assert(
    fc.property(batteryRecords, (records) => {
      assert.deepEqual(decode(BATTERY, encodeBlock(BATTERY, records)), records)
    }),
    { numRuns: 300 },
  )
})

test('the same records produce the same bytes', () => {
  fc.assert(
    fc.property(gpsRecords, (records) => {
      const copy = decode(GPS, encodeBlock(GPS, records))
      assert.deepEqual(encodeBlock(GPS, copy), encodeBlock(GPS, records))
    }),
  )
})

test('a block describes its contents', () => {
  fc.assert(
    fc.property(batteryRecords, (records) => {
      const { atMs } = records
      assert.deepEqual(verifyBlock(encodeBlock(BATTERY, records)), {
        kind: 'battery',
        version: 1,
        count: atMs.length,
        firstMs: atMs[0],
        lastMs: atMs.at(-1),
      })
    }),
  )
})

test('a jump over the antimeridian or between the poles is encoded as narrowly as any other', () => {
  const records = GPS.allocate(100)
  for (let i = 0; i < 100; i++) {
    records.atMs[i] = i
    records.latE7[i] = i % 2 === 0 ? 900_000_000 : -900_000_000
    records.longE7[i] = i % 3 === 0 ? 1_800_000_000 : -1_800_000_000
    records.speedMilliKmh[i] = i % 5 === 0 ? NO_SPEED : i * 1000
  }
  assert.deepEqual(decode(GPS, encodeBlock(GPS, records)), records)
})

test('gaps of a century fit between intervals of a millisecond', () => {
  const atMs = Float64Array.of(0, 1, YEAR_2100_MS - 2, YEAR_2100_MS - 1, YEAR_2100_MS)
  const records = { atMs, voltageMv: Int32Array.of(1, 2, 3, 4, 5) }
  assert.deepEqual(decode(BATTERY, encodeBlock(BATTERY, records)), records)
})

test('a range of blocks becomes one track', () => {
  const records = drive(5000)
  const track = GPS.allocate(5000)
  let count = 0
  for (let from = 0; from < 5000; from += MAX_BLOCK_RECORDS) {
    const part = GPS.view(records, from, Math.min(from + MAX_BLOCK_RECORDS, 5000))
    count += decodeBlock(GPS, encodeBlock(GPS, part), track, count)
  }
  assert.equal(count, 5000)
  assert.deepEqual(track, records)
})

test('a block within other bytes is decoded without touching memory around its records', () => {
  fc.assert(
    fc.property(batteryRecords, fc.integer({ min: 0, max: 9 }), (records, before) => {
      const block = encodeBlock(BATTERY, records)
      const buffer = new Uint8Array(block.length + 20).fill(0xff)
      buffer.set(block, before)
      const count = records.atMs.length
      const into = BATTERY.allocate(count + 20)
      into.atMs.fill(-7)
      into.voltageMv.fill(-7)
      decodeBlock(BATTERY, buffer.subarray(before, before + block.length), into, before)
      assert.deepEqual(BATTERY.view(into, before, before + count), records)
      for (const column of [into.atMs, into.voltageMv]) {
        assert.ok([...column.slice(0, before), ...column.slice(before + count)].every((v) => v === -7))
      }
    }),
  )
})

test('a range read of a block returns only the records in the range, both ends included', () => {
  const range = fc.tuple(fc.integer({ min: -1, max: 110 }), fc.integer({ min: -1, max: 110 }), fc.constantFrom(0, 0.5))
  const records = drive(100)
  const start = records.atMs[0] ?? 0
  const block = encodeBlock(GPS, records)
  fc.assert(
    fc.property(range, fc.integer({ min: 0, max: 5 }), ([from, to, part], offset) => {
      const [fromMs, toMs] = [start + from * 1000 + part, start + to * 1000 + part]
      const into = GPS.allocate(105)
      const count = decodeBlockRange(GPS, block, { fromMs, toMs }, into, offset)
      const wanted = [...records.atMs.keys()].filter((i) => {
        const time = records.atMs[i] ?? 0
        return time >= fromMs && time <= toMs
      })
      const found = GPS.view(into, offset, offset + count)
      assert.deepEqual(found, GPS.view(records, wanted[0] ?? 0, wanted.length === 0 ? 0 : (wanted.at(-1) ?? 0) + 1))
    }),
  )
})

test('an unbounded range read of a block returns all records', () => {
  const records = drive(50)
  const into = GPS.allocate(50)
  const all = { fromMs: Number.NEGATIVE_INFINITY, toMs: Number.POSITIVE_INFINITY }
  assert.equal(decodeBlockRange(GPS, encodeBlock(GPS, records), all, into), 50)
  assert.deepEqual(into, records)
})

test('a position a second takes at most 5 bytes, and its time none', () => {
  const records = drive(MAX_BLOCK_RECORDS)
  const { length } = encodeBlock(GPS, records)
  assert.ok(length / MAX_BLOCK_RECORDS <= 5, `${length / MAX_BLOCK_RECORDS} bytes`)
  records.speedMilliKmh.fill(NO_SPEED)
  records.latE7.fill(1)
  records.longE7.fill(1)
  const { length: without } = encodeBlock(GPS, records)
  assert.ok(without / MAX_BLOCK_RECORDS <= 0.3, `${without / MAX_BLOCK_RECORDS} bytes`)
})

const good = drive(3)
for (const [what, records] of [
  ['no records', GPS.allocate(0)],
  ['more records than a block has', drive(MAX_BLOCK_RECORDS + 1)],
  ['the same time twice', { ...good, atMs: Float64Array.of(1, 2, 2) }],
  ['times that go back', { ...good, atMs: Float64Array.of(1, 3, 2) }],
  ['times before 1970', { ...good, atMs: Float64Array.of(-1, 3, 4) }],
  ['times after 2248', { ...good, atMs: Float64Array.of(1, 3, 2 ** 43) }],
  ['part of a millisecond', { ...good, atMs: Float64Array.of(1, 2.5, 4) }],
  ['a time that is none', { ...good, atMs: Float64Array.of(1, Number.NaN, 4) }],
  ['a latitude behind the pole', { ...good, latE7: Int32Array.of(0, 900_000_001, 0) }],
  ['a longitude of more than half a turn', { ...good, longE7: Int32Array.of(0, 0, -1_800_000_001) }],
  ['a negative speed that is not the mark', { ...good, speedMilliKmh: Int32Array.of(0, -2, 0) }],
  ['columns of different lengths', { ...good, latE7: Int32Array.of(0, 0) }],
] as const) {
  test(`${what} cannot be encoded`, () => {
    assert.throws(() => encodeBlock(GPS, records), RangeError)
  })
}

test('a block of another kind, and columns without room, are rejected', () => {
  const block = encodeBlock(GPS, drive(10))
  assert.throws(() => decodeBlock(BATTERY, block, BATTERY.allocate(10)), RangeError)
  assert.throws(() => decodeBlock(GPS, block, GPS.allocate(9)), RangeError)
  assert.throws(() => decodeBlock(GPS, block, GPS.allocate(12), 3), RangeError)
  assert.throws(() => decodeBlock(GPS, block, GPS.allocate(12), -1), RangeError)
  assert.throws(() => decodeBlock(GPS, block, { ...GPS.allocate(12), longE7: new Int32Array(9) }), RangeError)
})
