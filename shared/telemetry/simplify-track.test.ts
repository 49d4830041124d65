import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type GpsRecords, NO_SPEED } from './records.ts'
import { simplifyTrack } from './simplify-track.ts'

const THINNING = { stepMs: 5_000, standingMs: 60_000, movingMilliKmh: 3_000 }
/** About a metre of latitude. */
const METRE_E7 = 90

interface Fix {
  atS: number
  northM: number
  kmh?: number
}

function recordsOf(fixes: readonly Fix[]): GpsRecords {
  return {
    atMs: Float64Array.from(fixes, ({ atS }) => atS * 1000),
    latE7: Int32Array.from(fixes, ({ northM }) => 284_100_000 + northM * METRE_E7),
    longE7: Int32Array.from(fixes, () => -815_800_000),
    speedMilliKmh: Int32Array.from(fixes, ({ kmh }) => (kmh === undefined ? NO_SPEED : kmh * 1000)),
  }
}

function keptAtS(fixes: readonly Fix[]): number[] {
  return simplifyTrack(recordsOf(fixes), fixes.length, THINNING).map((i) => fixes[i]?.atS ?? Number.NaN)
}

const seconds = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i)

test('a cart that reports every second while driving keeps one fix in five', () => {
  const drive = seconds(0, 22).map((atS) => ({ atS, northM: atS * 4, kmh: 14 }))
  assert.deepEqual(keptAtS(drive), [0, 5, 10, 15, 20, 22])
})

test('a stationary cart keeps one fix a minute', () => {
  const standing = seconds(0, 130).map((atS) => ({ atS, northM: atS % 2, kmh: 0 }))
  assert.deepEqual(keptAtS(standing), [0, 60, 120, 130])
})

test('the fixes at which a cart starts and stops stay', () => {
  const fixes = seconds(0, 12).map((atS) => ({
    atS,
    northM: Math.max(0, atS - 3),
    kmh: atS > 3 && atS < 8 ? 10 : 0,
  }))
  assert.deepEqual(keptAtS(fixes), [0, 4, 8, 12])
})

test('a cart that creeps without a speed counts as moving', () => {
  const creeping = seconds(0, 20).map((atS) => ({ atS, northM: atS }))
  assert.deepEqual(keptAtS(creeping), [0, 5, 10, 15, 20])
})

test('the last fix before a signal loss stays, so that the loss does not seem to begin earlier', () => {
  const fixes = [...seconds(0, 33), ...seconds(200, 201)].map((atS) => ({ atS, northM: 0, kmh: 0 }))
  assert.deepEqual(keptAtS(fixes), [0, 33, 200, 201])
})

test('a simplified track keeps its ends and prolongs no stop, and close fixes stay only if needed', () => {
  const fix = fc.record({ stepS: fc.integer({ min: 1, max: 90 }), northM: fc.integer(), kmh: fc.nat(30) })
  fc.assert(
    fc.property(fc.array(fix, { minLength: 1, maxLength: 60 }), (steps) => {
      let atS = 0
      const fixes = steps.map(({ stepS, northM, kmh }) => {
        atS += stepS
        return { atS, northM: northM % 1000, kmh }
      })
      const kept = keptAtS(fixes)
      assert.equal(kept[0], fixes[0]?.atS)
      assert.equal(kept.at(-1), fixes.at(-1)?.atS)
      for (const [i, { atS: now }] of fixes.entries()) {
        const before = fixes[i - 1]?.atS ?? now
        const last = kept.findLast((one) => one <= now) ?? Number.NEGATIVE_INFINITY
        // at any time the last kept fix lags by at most a minute and a step
        assert.ok(now - last <= 60 || now - before > 60, `${now} ${last}`)
      }
    }),
  )
})
