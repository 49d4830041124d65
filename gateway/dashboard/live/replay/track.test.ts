import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { deviceTrackJson } from '#dashboard/testing/track-json.ts'
import { lastIndexAt, trackOf, voltagesOf } from './track.ts'

const FROM_MS = Date.UTC(2026, 4, 1)

test('columns of differences decode to the positions', () => {
  const { gps, battery } = deviceTrackJson(
    'a',
    'teebox',
    [{ atS: -5 }, { atS: 10, northM: 4, kmh: 14.4 }, { atS: 11, northM: 2, eastM: -3, kmh: 0 }],
    [
      [1, 50.9],
      [61, 49.95],
    ],
  )
  const track = trackOf(gps, FROM_MS)
  assert.deepEqual([...track.atMs], [FROM_MS - 5_000, FROM_MS + 10_000, FROM_MS + 11_000])
  assert.deepEqual([...track.latE7], [284_100_000, 284_100_360, 284_100_180])
  assert.deepEqual([...track.longE7], [-815_800_000, -815_800_000, -815_800_270])
  assert.deepEqual([...track.speedKmh], [Number.NaN, Math.fround(14.4), 0])
  const voltages = voltagesOf(battery, FROM_MS)
  assert.deepEqual([...voltages.atMs], [FROM_MS + 1_000, FROM_MS + 61_000])
  assert.deepEqual([...voltages.voltageV], [Math.fround(50.9), Math.fround(49.95)])
})

test('the state at a moment is the last one reported by then', () => {
  const atMs = Float64Array.of(10, 20, 20.5, 30)
  assert.deepEqual(
    [9, 10, 19, 20, 25, 30, 1e9].map((moment) => lastIndexAt(atMs, moment)),
    [-1, 0, 0, 1, 2, 3, 3],
  )
  assert.equal(lastIndexAt(new Float64Array(0), 5), -1)
})

test('the binary search finds the same as a linear scan', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(50)), fc.integer({ min: -5, max: 60 }), (times, moment) => {
      const atMs = Float64Array.from(times).sort()
      assert.equal(
        lastIndexAt(atMs, moment),
        atMs.findLastIndex((one) => one <= moment),
      )
    }),
  )
})
