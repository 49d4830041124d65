import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createRandom } from '#shared/random.ts'
import { GpsNoise, WORST_ERROR_M } from './gps-noise.ts'
import { distanceM, type Point } from './plane.ts'

const truth: Point = { xM: 120, yM: -40 }

function fixes(seed: number, everyMs: number, count: number): Point[] {
  const noise = new GpsNoise(createRandom(seed))
  return Array.from({ length: count }, (_, i) => noise.observe(truth, i * everyMs))
}

test('no fix is further off than the worst error', () => {
  fc.assert(
    fc.property(fc.integer(), fc.integer({ min: 0, max: 600_000 }), (seed, everyMs) => {
      for (const fix of fixes(seed, everyMs, 200)) {
        assert.ok(Math.abs(fix.xM - truth.xM) <= WORST_ERROR_M && Math.abs(fix.yM - truth.yM) <= WORST_ERROR_M)
      }
    }),
  )
})

test('the error is a few metres on average', () => {
  const all = fixes(1, 1000, 20_000)
  const mean = all.reduce((sum, fix) => sum + distanceM(fix, truth), 0) / all.length
  assert.ok(mean > 0.8 && mean < 4, `${mean} m`)
})

test('the error drifts: consecutive fixes agree better than distant ones', () => {
  const all = fixes(2, 1000, 20_000)
  const apart = (steps: number) => {
    const pairs = all.slice(steps).map((fix, i) => distanceM(fix, all[i] ?? fix))
    return pairs.reduce((sum, distance) => sum + distance, 0) / pairs.length
  }
  assert.ok(apart(1) < apart(300) / 3, `${apart(1)} m and ${apart(300)} m`)
})
