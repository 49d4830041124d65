import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { advanceMotion, NO_MOTION } from '#shared/carts/motion.ts'
import { MotionTrack } from './motion-track.ts'

const SETTINGS = { restAfterS: 300, pack: { emptyV: 47, lowV: 48, fullV: 51 }, movingKmh: 3 }
const NEVER = Number.POSITIVE_INFINITY
const NONE = Number.NaN

/** `[at_ms, lat E7, speed milli km/h, millivolts]` each. */
function columns(...rows: [atMs: number, latE7: number, speed: number, millivolts: number][]): Float64Array {
  return Float64Array.from(rows.flatMap(([atMs, lat, speed, mv]) => [1, atMs, lat, 0, speed, mv]))
}

function isInOrder(rows: readonly (readonly [atMs: number, ...unknown[]])[]): boolean {
  return rows.every(([atMs], i) => atMs > (rows[i - 1]?.[0] ?? 0))
}

test('a sample is visible at the next evaluation', () => {
  const track = new MotionTrack()
  track.take(columns([1000, 10, 5000, 50_000]), true, SETTINGS, NEVER)
  track.take(columns([1001, 20, 6000, NONE]), true, SETTINGS, NEVER)
  const motion = track.evaluate(SETTINGS, NEVER)
  assert.deepEqual(motion.fix, { atMs: 1001, latE7: 20, longE7: 0, speedKmh: 6 })
  assert.deepEqual(motion.battery, { atMs: 1000, voltageV: 50 })
  assert.equal(track.firstFixMs, 1000)
})

test('dense samples yield the fix and battery of the last two samples', () => {
  const track = new MotionTrack()
  const rows = Array.from({ length: 5000 }, (_, i): [number, number, number, number] => [
    i * 10,
    i * 5,
    NONE,
    50_000 - i,
  ])
  for (let at = 0; at < rows.length; at += 5) track.take(columns(...rows.slice(at, at + 5)), true, SETTINGS, NEVER)
  const motion = track.evaluate(SETTINGS, NEVER)
  const all = rows.reduce(
    (known, [atMs, latE7, , mv]) =>
      advanceMotion(known, { atMs, position: { latE7, longE7: 0, speedKmh: null }, voltageV: mv / 1000 }, SETTINGS),
    NO_MOTION,
  )
  assert.deepEqual(motion.fix, all.fix)
  assert.deepEqual(motion.battery, all.battery)
  assert.equal(motion.heading, 0)
})

test('the newest fix and voltage are known, however samples are batched', () => {
  const some = fc.option(fc.integer({ min: 0, max: 100_000 }), { nil: NONE })
  const row = fc.tuple(fc.integer({ min: 1, max: 5000 }), some, fc.constant(0), some)
  fc.assert(
    fc.property(fc.array(fc.array(row, { minLength: 1, maxLength: 8 }), { maxLength: 20 }), (runs) => {
      const track = new MotionTrack()
      for (const rows of runs) track.take(columns(...rows), isInOrder(rows), SETTINGS, NEVER)
      const { fix, battery } = track.evaluate(SETTINGS, NEVER)
      const newest = (column: 1 | 3) => {
        const known = runs.flat().filter((one) => !Number.isNaN(one[column]))
        // the first of equal times wins
        return known.reduce<(typeof known)[number] | null>(
          (best, one) => (best === null || one[0] > best[0] ? one : best),
          null,
        )
      }
      assert.deepEqual([fix?.atMs, fix?.latE7], [newest(1)?.[0], newest(1)?.[1]])
      const volts = newest(3)
      assert.deepEqual(
        [battery?.atMs, battery?.voltageV],
        [volts?.[0], volts && volts[3] / 1000].map((one) => one ?? undefined),
      )
    }),
  )
})

test('samples a second or more apart are each evaluated', () => {
  const track = new MotionTrack()
  const rows = Array.from({ length: 400 }, (_, i): [number, number, number, number] => [i * 1000, 0, 0, 50_000 + i])
  track.take(columns(...rows), true, SETTINGS, NEVER)
  const { rest, still } = track.evaluate(SETTINGS, NEVER)
  assert.deepEqual(rest, { atMs: 399_000, voltageV: 50.399 })
  assert.equal(still?.sinceMs, 0)
})

test('a late sample moves nothing, and a sample with a wrong time is discarded', () => {
  const track = new MotionTrack()
  track.take(columns([10_000, 10, 0, NONE], [5000, 20, 0, NONE]), false, SETTINGS, NEVER)
  assert.equal(track.evaluate(SETTINGS, NEVER).fix?.atMs, 10_000)
  track.take(columns([900_000, 30, 0, NONE]), true, SETTINGS, 1_000_000)
  assert.equal(track.evaluate(SETTINGS, 1_000_000).fix?.atMs, 900_000)
  track.take(columns([11_000, 40, 0, NONE]), true, SETTINGS, 20_000)
  assert.equal(track.evaluate(SETTINGS, 20_000).fix?.latE7, 40)
})

test('a pending sample with a wrong time gives way to a correct one', () => {
  const track = new MotionTrack()
  track.take(columns([1000, 10, 0, NONE]), true, SETTINGS, NEVER)
  track.take(columns([1500, 20, 0, NONE]), true, SETTINGS, NEVER)
  track.take(columns([1100, 30, 0, NONE]), true, SETTINGS, 1200)
  assert.equal(track.evaluate(SETTINGS, 1200).fix?.latE7, 30)
})

test('deleted samples are forgotten, including pending ones', () => {
  const track = new MotionTrack()
  track.take(columns([1000, 10, 0, 50_000], [1001, 10, 0, 50_001]), true, SETTINGS, NEVER)
  track.forget({ gps: true, battery: false })
  const motion = track.evaluate(SETTINGS, NEVER)
  assert.deepEqual([motion.fix, motion.still, track.firstFixMs], [null, null, null])
  assert.equal(motion.battery?.voltageV, 50.001)
})
