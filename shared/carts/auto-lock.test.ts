import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MINUTE_MS } from '#shared/time.ts'
import { type AutoLockFacts, autoLockAtMs } from './auto-lock.ts'
import type { ZoneStay } from './cart-state.ts'

const PARKED_MS = 1_000_000
const STILL_MS = PARKED_MS + 5_000
const stay = (type: ZoneStay['type'], sinceMs: number): ZoneStay => ({
  zoneId: type,
  name: type,
  type,
  hole: null,
  sinceMs,
})
const fix = (atMs: number) => ({
  hardwareId: 'a',
  fix: { atMs, latE7: 0, longE7: 0, speedKmh: 0 },
  heading: null,
})
const STANDING = {
  isInParking: true,
  stays: [stay('parking', PARKED_MS)],
  stillSinceMs: STILL_MS,
  position: fix(STILL_MS + 1_000),
}
const FACTS: AutoLockFacts = {
  afterMin: 1,
  isClockConfirmed: true,
  isInService: true,
  onlineSinceMs: 0,
  unlockedSinceMs: 0,
  lockedAtMs: null,
}
const AT_MS = STILL_MS + MINUTE_MS

const cases: [string, number | null, Partial<AutoLockFacts>, Partial<typeof STANDING>?][] = [
  ['a cart that stands still in the barn', AT_MS, {}],
  ['a fraction of a minute', STILL_MS + 3_000, { afterMin: 0.05 }],
  ['never, by the setting', null, { afterMin: 0 }],
  ['while the clock is not confirmed', null, { isClockConfirmed: false }],
  ['out of service', null, { isInService: false }],
  ['out of reach', null, { onlineSinceMs: null }],
  ['locked, or nobody knows', null, { unlockedSinceMs: null }],
  ['on the course', null, {}, { isInParking: false, stays: [] }],
  ['never seen', null, {}, { stillSinceMs: null as unknown as number }],
  ['unlocked since', STILL_MS + 90_000, { unlockedSinceMs: STILL_MS + 30_000 }],
  ['back since, and silent about where it is', 2_060_000, { onlineSinceMs: 2_000_000 }],
  ['back since, and it said where it is', AT_MS, { onlineSinceMs: 2_000_000 }, { position: fix(2_000_500) }],
  ['locked once in this stay', null, { lockedAtMs: AT_MS }],
  ['unlocked after that', AT_MS + 10_000 + MINUTE_MS, { lockedAtMs: AT_MS, unlockedSinceMs: AT_MS + 10_000 }],
  ['locked in an earlier stay', AT_MS, { lockedAtMs: PARKED_MS - 1 }],
  ['in a second parking zone since', AT_MS, {}, { stays: [stay('parking', PARKED_MS), stay('parking', STILL_MS + 1)] }],
  [
    'a stay that began after it stood still',
    STILL_MS + 1_000 + MINUTE_MS,
    {},
    { stays: [stay('boundary', 0), stay('parking', STILL_MS + 1_000)] },
  ],
]

for (const [what, expected, facts, standing] of cases)
  test(`the auto-lock time of a cart: ${what}`, () => {
    assert.equal(autoLockAtMs({ ...STANDING, ...standing }, { ...FACTS, ...facts }), expected)
  })
