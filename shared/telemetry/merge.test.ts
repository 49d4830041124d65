import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { MAX_BLOCK_RECORDS } from './block.ts'
import { findDuplicates, mergeRecords, splitEvenly, splitIntoFullBlocks } from './merge.ts'
import { BATTERY, type BatteryRecords, GPS, indexAtOrAfter } from './records.ts'

type Reading = readonly [atMs: number, voltageMv: number]

function toRecords(readings: readonly Reading[]): BatteryRecords {
  return {
    atMs: Float64Array.from(readings, ([atMs]) => atMs),
    voltageMv: Int32Array.from(readings, ([, voltageMv]) => voltageMv),
  }
}

const readings: fc.Arbitrary<Reading[]> = fc
  .uniqueArray(fc.tuple(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 0, max: 60_000 })), {
    selector: ([atMs]) => atMs,
  })
  .map((all) => all.sort(([a], [b]) => a - b))

test('a merge has every time of both once, in order, and the record of the block where both have one', () => {
  fc.assert(
    fc.property(readings, readings, (kept, late) => {
      const expected = [...new Map([...late, ...kept])].sort(([a], [b]) => a - b)
      assert.deepEqual(mergeRecords(BATTERY, toRecords(kept), toRecords(late)), toRecords(expected))
    }),
    { numRuns: 500 },
  )
})

test('all columns of a position are merged together', () => {
  const kept = {
    atMs: Float64Array.of(10, 30),
    latE7: Int32Array.of(1, 3),
    longE7: Int32Array.of(11, 13),
    speedMilliKmh: Int32Array.of(21, -1),
  }
  const late = {
    atMs: Float64Array.of(20, 30, 40),
    latE7: Int32Array.of(2, 99, 4),
    longE7: Int32Array.of(12, 99, 14),
    speedMilliKmh: Int32Array.of(-1, 99, 24),
  }
  assert.deepEqual(mergeRecords(GPS, kept, late), {
    atMs: Float64Array.of(10, 20, 30, 40),
    latE7: Int32Array.of(1, 2, 3, 4),
    longE7: Int32Array.of(11, 12, 13, 14),
    speedMilliKmh: Int32Array.of(21, -1, -1, 24),
  })
})

test('duplicates are the late records whose time the block has', () => {
  fc.assert(
    fc.property(readings, readings, (kept, late) => {
      const times = new Set(kept.map(([atMs]) => atMs))
      assert.deepEqual(
        findDuplicates(toRecords(kept).atMs, toRecords(late).atMs),
        [...late.keys()].filter((i) => times.has(late[i]?.[0] ?? -1)),
      )
    }),
  )
})

for (const [split, name] of [
  [splitIntoFullBlocks, 'splitIntoFullBlocks'],
  [splitEvenly, 'splitEvenly'],
] as const) {
  test(`${name} makes the fewest blocks that hold all records in order`, () => {
    for (const count of [0, 1, 2047, 2048, 2049, 4096, 4097, 10_000]) {
      const records = toRecords(Array.from({ length: count }, (_, i) => [i, i * 2] as const))
      const parts = split(BATTERY, records)
      assert.equal(parts.length, Math.ceil(count / MAX_BLOCK_RECORDS))
      assert.ok(parts.every(({ atMs }) => atMs.length >= 1 && atMs.length <= MAX_BLOCK_RECORDS))
      assert.deepEqual(
        parts.flatMap(({ voltageMv }) => [...voltageMv]),
        [...records.voltageMv],
      )
    }
  })
}

test('full blocks are full but the last; even ones differ by few records', () => {
  const records = BATTERY.allocate(2 * MAX_BLOCK_RECORDS + 2)
  const sizes = (parts: BatteryRecords[]) => parts.map(({ atMs }) => atMs.length)
  assert.deepEqual(sizes(splitIntoFullBlocks(BATTERY, records)), [2048, 2048, 2])
  assert.deepEqual(sizes(splitEvenly(BATTERY, records)), [1366, 1366, 1366])
})

test('a place among ascending times is found as if every time were looked at', () => {
  fc.assert(
    fc.property(readings, fc.integer({ min: -1, max: 61 }), fc.nat(70), fc.nat(70), (all, time, a, b) => {
      const { atMs } = toRecords(all)
      const to = Math.min(Math.max(a, b), atMs.length)
      const from = Math.min(a, b, to)
      let expected = from
      while (expected < to && (atMs[expected] ?? 0) < time) expected++
      assert.equal(indexAtOrAfter(atMs, time, from, to), expected)
    }),
  )
})
