import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { advanceMotion, type CartMotion, type CartSample, isPackLow, NO_MOTION, restless } from './motion.ts'

const SETTINGS = { restAfterS: 300, movingKmh: 3, pack: { emptyV: 46, fullV: 51, lowV: 48 } }
const START_MS = Date.UTC(2026, 4, 1, 12)
/** About a metre of latitude. */
const METRE_E7 = 90

const at = (atS: number, northM: number, speedKmh: number | null = null): CartSample => ({
  atMs: START_MS + atS * 1000,
  position: { latE7: 284_100_000 + northM * METRE_E7, longE7: -815_800_000, speedKmh },
  voltageV: null,
})
const volts = (atS: number, voltageV: number): CartSample => ({
  atMs: START_MS + atS * 1000,
  position: null,
  voltageV,
})
const follow = (...samples: CartSample[]): CartMotion =>
  samples.reduce((motion, sample) => advanceMotion(motion, sample, SETTINGS), NO_MOTION)

test('the heading is that of the last five metres, and unknown before that', () => {
  assert.equal(follow(at(0, 0)).heading, null)
  assert.equal(follow(at(0, 0), at(5, 4)).heading, null)
  assert.equal(follow(at(0, 0), at(5, 4), at(10, 8)).heading, 0)
  assert.equal(follow(at(0, 0), at(5, 10), at(10, 2)).heading, 180)
  const west: CartSample = {
    ...at(10, 10),
    position: { latE7: 284_100_900, longE7: -815_810_000, speedKmh: null },
  }
  assert.equal(follow(at(0, 0), at(5, 10), west).heading, 270)
})

test('a missing speed is computed from two fixes less than a minute apart', () => {
  const speed = (...samples: CartSample[]) => follow(...samples).fix?.speedKmh ?? null
  assert.equal(Math.round(speed(at(0, 0), at(10, 50)) ?? 0), 18)
  assert.equal(speed(at(0, 0), at(60, 50)), null)
  assert.equal(speed(at(0, 0)), null)
  assert.equal(speed(at(0, 0), at(10, 50, 0)), 0)
})

test('voltage is at rest after five minutes without movement, and not before', () => {
  const parked = [at(0, 0, 20), at(10, 40, 0)]
  assert.equal(follow(...parked, volts(299, 49)).rest, null)
  assert.equal(follow(...parked, volts(310, 49)).rest?.voltageV, 49)
  // a receiver at rest wanders
  const wandering = [0, 60, 120, 180, 240].map((atS, i) => at(20 + atS, 40 + (i % 2) * 10, 0))
  assert.equal(follow(...parked, ...wandering, volts(311, 49)).rest?.voltageV, 49)
  // creeping away is movement, whatever the reported speed is
  assert.equal(follow(...parked, at(200, 80, 0), volts(311, 49)).rest, null)
})

test('a battery is low by its voltage at rest, or by two successive readings a tenth lower in motion', () => {
  const parked = [at(0, 0, 20), at(10, 40, 0)]
  assert.ok(isPackLow(follow(...parked, volts(400, 47.9)), 48))
  assert.ok(!isPackLow(follow(...parked, volts(400, 48)), 48))
  assert.ok(!isPackLow(follow(...parked, volts(400, 40)), null))
  const driving = [at(0, 0, 20)]
  assert.ok(!isPackLow(follow(...driving, volts(1, 43.1)), 48))
  assert.ok(isPackLow(follow(...driving, volts(1, 43.1), volts(2, 43.1)), 48))
  assert.ok(!isPackLow(follow(...driving, volts(1, 43.1), volts(2, 44), volts(3, 43.1)), 48))
  // what it is at rest is known for certain
  const rested = follow(...driving, volts(1, 43), volts(2, 43), at(3, 40, 0), volts(400, 48.5))
  assert.ok(!isPackLow(rested, 48))
})

test('late samples change nothing, and an impossible last time is reset', () => {
  const known = follow(at(0, 0), at(100, 50, 7), volts(100, 49))
  assert.deepEqual(advanceMotion(advanceMotion(known, at(50, 0), SETTINGS), volts(100, 47), SETTINGS), known)
  const ahead = follow(at(1e6, 0))
  assert.equal(advanceMotion(ahead, at(0, 5), SETTINGS, START_MS + 1000).fix?.atMs, START_MS)
})

test('a clock change restarts the time at rest', () => {
  const parked = restless(follow(at(0, 0), at(10, 0, 0)), START_MS + 400_000)
  assert.equal(advanceMotion(parked, volts(500, 47), SETTINGS).rest, null)
  assert.equal(advanceMotion(parked, volts(700, 47), SETTINGS).rest?.voltageV, 47)
})

test('a track processed in chunks, with the state saved as JSON, yields the same as in one pass', () => {
  const samples = fc.array(
    fc.oneof(
      fc.tuple(fc.nat(2000), fc.nat(300), fc.option(fc.nat(30))).map(([s, m, v]) => at(s, m, v)),
      fc.tuple(fc.nat(2000), fc.integer({ min: 40, max: 52 })).map(([s, v]) => volts(s, v)),
    ),
    { maxLength: 40 },
  )
  fc.assert(
    fc.property(samples, (all) => {
      const kept = all.reduce<CartMotion>(
        (motion, sample) => JSON.parse(JSON.stringify(advanceMotion(motion, sample, SETTINGS))),
        NO_MOTION,
      )
      assert.deepEqual(kept, follow(...all))
    }),
  )
})
