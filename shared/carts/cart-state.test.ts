import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type CartDevice, type CartState, type CartZoneContext, evaluateCart, type ZoneStay } from './cart-state.ts'
import { decideLock } from './lock-rule.ts'
import { type CartFix, NO_MOTION } from './motion.ts'

const NOW_MS = Date.UTC(2026, 4, 1, 12)
const SETTINGS = {
  pack: { emptyV: 46, fullV: 51, lowV: 48 },
  silentAfterS: 180,
  silentOnCourseAfterS: 900,
  movingKmh: 3,
}
const ZONE_CONTEXT: CartZoneContext = { hasParking: true, hasBoundary: true }
const BARE: CartZoneContext = { hasParking: false, hasBoundary: false }

const stay = (type: ZoneStay['type']): ZoneStay => ({
  zoneId: type,
  name: type,
  type,
  hole: null,
  sinceMs: NOW_MS - 60_000,
})
const fix = (ageS: number, speedKmh: number | null = 0): CartFix => ({
  atMs: NOW_MS - ageS * 1000,
  latE7: 284_100_000,
  longE7: -815_800_000,
  speedKmh,
})

function device(more: Partial<CartDevice> & { ageS?: number; fix?: CartFix | null } = {}): CartDevice {
  const { ageS = 1, fix: given = fix(ageS), ...rest } = more
  return {
    hardwareId: 'lock-1',
    deviceType: 'teebox',
    isOnline: true,
    announcedSleep: false,
    lastSeenAtMs: NOW_MS - ageS * 1000,
    motion: { ...NO_MOTION, fix: given },
    stays: [stay('boundary')],
    outSinceMs: NOW_MS - 3_600_000,
    lock: null,
    ...rest,
  }
}
const judge = (devices: CartDevice[], zoneContext = ZONE_CONTEXT, startedAtMs = 0) =>
  evaluateCart(devices, zoneContext, SETTINGS, { nowMs: NOW_MS, startedAtMs })

const IN = [stay('parking'), stay('boundary')]
const STATES: [name: string, state: CartState, devices: CartDevice[], zoneContext?: CartZoneContext][] = [
  ['never seen', 'unknown', [device({ fix: null })]],
  ['never seen and silent', 'unknown', [device({ fix: null, isOnline: false, ageS: 9999 })]],
  ['on the course', 'out', [device()]],
  ['in the barn', 'in', [device({ stays: IN })]],
  ['in a barn that lies beyond the boundary', 'in', [device({ stays: [stay('parking')] })]],
  ['beyond the boundary', 'outside', [device({ stays: [] })]],
  ['where there is no boundary', 'out', [device({ stays: [] })], { hasParking: true, hasBoundary: false }],
  ['where there are no zones', 'out', [device({ stays: [] })], BARE],
  ['gone for three minutes', 'silent', [device({ isOnline: false, ageS: 180 })]],
  ['gone for less', 'out', [device({ isOnline: false, ageS: 179 })]],
  ['gone in the barn', 'silent', [device({ isOnline: false, ageS: 180, stays: IN })]],
  ['asleep in the barn', 'in', [device({ isOnline: false, announcedSleep: true, ageS: 9999, stays: IN })]],
  ['asleep on the course', 'silent', [device({ isOnline: false, announcedSleep: true, ageS: 9999 })]],
  ['connected and quiet for less than a quarter of an hour', 'out', [device({ ageS: 899 })]],
  ['connected and quiet for a quarter of an hour', 'silent', [device({ ageS: 900 })]],
  ['connected and quiet in the barn', 'in', [device({ ageS: 9999, stays: IN })]],
  [
    'one of two devices is heard of',
    'out',
    [device({ isOnline: false, ageS: 9999 }), device({ hardwareId: 'screen-1', deviceType: 'cartcaddie' })],
  ],
  [
    'a lock that sleeps while the screen is online',
    'in',
    [
      device({ isOnline: false, announcedSleep: true, ageS: 9999, stays: IN }),
      device({ hardwareId: 'screen-1', deviceType: 'cartcaddie', fix: null, ageS: 9999 }),
    ],
  ],
]

for (const [name, state, devices, zoneContext] of STATES) {
  test(`${name}: ${state}`, () => assert.equal(judge(devices, zoneContext).state, state))
}

test('no cart is silent before the gateway has run for the length of the silence limit', () => {
  const gone = device({ isOnline: false, ageS: 9999 })
  assert.equal(judge([gone], ZONE_CONTEXT, NOW_MS - 179_000).state, 'out')
  assert.equal(judge([gone], ZONE_CONTEXT, NOW_MS - 180_000).state, 'silent')
})

test('a cart moves if its last speed is under a minute old', () => {
  assert.ok(judge([device({ fix: fix(59, 3) })]).isMoving)
  assert.ok(!judge([device({ fix: fix(59, 2.9) })]).isMoving)
  assert.ok(!judge([device({ fix: fix(60, 20) })]).isMoving)
  assert.ok(!judge([device({ fix: fix(1, null) })]).isMoving)
})

test('the lock determines the position, unless another device has one over a minute newer', () => {
  const screen = (ageS: number) => device({ hardwareId: 'screen-1', deviceType: 'cartcaddie', ageS })
  const speaker = (lockAgeS: number, screenAgeS: number) =>
    judge([device({ ageS: lockAgeS }), screen(screenAgeS)]).position?.hardwareId
  assert.equal(speaker(61, 1), 'lock-1')
  assert.equal(speaker(62, 1), 'screen-1')
  assert.equal(judge([screen(500)]).position?.hardwareId, 'screen-1')
  const second = device({ hardwareId: 'lock-2', ageS: 3 })
  assert.equal(judge([device({ ageS: 5 }), second]).position?.hardwareId, 'lock-2')
})

test('lock and battery state come from the lock, or from the device that reported last', () => {
  const lockReport = (atMs: number) => ({ isLocked: true, atMs, source: null, by: null })
  const screen = device({
    hardwareId: 'screen-1',
    deviceType: 'cartcaddie',
    lock: lockReport(NOW_MS),
    motion: { ...NO_MOTION, battery: { atMs: NOW_MS, voltageV: 12 } },
  })
  const lock = device({
    lock: lockReport(NOW_MS - 9_000),
    motion: { ...NO_MOTION, battery: { atMs: NOW_MS - 9_000, voltageV: 48 } },
  })
  const both = judge([screen, lock])
  assert.deepEqual([both.lock?.hardwareId, both.battery?.voltageV], ['lock-1', 48])
  const alone = judge([screen, device()])
  assert.deepEqual([alone.lock?.hardwareId, alone.battery?.voltageV], ['screen-1', 12])
})

test('percent is an integer from 0 to 100, and unknown without the voltages of the battery', () => {
  const rested = (voltageV: number) =>
    device({ motion: { ...NO_MOTION, battery: { atMs: 1, voltageV }, rest: { atMs: 1, voltageV } } })
  const percent = (voltageV: number) => judge([rested(voltageV)]).battery?.percent
  assert.deepEqual([48.5, 46, 51, 40, 60, 48.52].map(percent), [50, 0, 100, 0, 100, 50])
  const unknown = { ...SETTINGS, pack: { emptyV: null, fullV: 51, lowV: 48 } }
  const clock = { nowMs: NOW_MS, startedAtMs: 0 }
  assert.equal(evaluateCart([rested(48)], ZONE_CONTEXT, unknown, clock).battery?.percent, null)
})

test('an evaluated state holds until its stated time, and not at that moment', () => {
  const arbitraryDevice = fc.record({
    ageS: fc.integer({ min: -60, max: 1200 }),
    isOnline: fc.boolean(),
    announcedSleep: fc.boolean(),
    fix: fc.option(
      fc
        .tuple(fc.integer({ min: -60, max: 120 }), fc.constantFrom(null, 0, 3, 12))
        .map(([ageS, speedKmh]) => fix(ageS, speedKmh)),
    ),
    stays: fc.constantFrom([], IN, [stay('boundary')]),
  })
  const judgeAt = (devices: CartDevice[], nowMs: number) =>
    evaluateCart(devices, ZONE_CONTEXT, SETTINGS, { nowMs, startedAtMs: NOW_MS - 600_000 })
  fc.assert(
    fc.property(
      fc.array(arbitraryDevice, { minLength: 1, maxLength: 3 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (fields, share) => {
        const devices = fields.map((one, i) => device({ ...one, hardwareId: `lock-${i}` }))
        const verdict = judgeAt(devices, NOW_MS)
        const { holdsUntilMs, ...now } = verdict
        assert.ok(holdsUntilMs > NOW_MS)
        const lastMs = Math.min(holdsUntilMs, NOW_MS + 86_400_000) - 1
        const betweenMs = NOW_MS + Math.floor((lastMs - NOW_MS) * share)
        for (const atMs of [lastMs, betweenMs]) assert.deepEqual(judgeAt(devices, atMs), verdict)
        if (!Number.isFinite(holdsUntilMs)) return
        // of several devices the state may stay what it is for another reason
        const { holdsUntilMs: _, ...then } = judgeAt(devices, holdsUntilMs)
        if (devices.length === 1 && now.state !== 'unknown' && !now.isAsleep) assert.notDeepEqual(then, now)
      },
    ),
  )
})

const LOCK_RULES = { lockMaxSpeedKmh: 6, lockLocateAfterS: 60 }
const LOCKS: [name: string, verdict: string, device: CartDevice, place?: { hasParking: boolean; isOnline: boolean }][] =
  [
    ['one that was never seen', 'send', device({ fix: null })],
    ['one that drives', 'cart_is_moving', device({ fix: fix(29, 6.1) })],
    ['one that drives through the barn', 'cart_is_moving', device({ fix: fix(1, 7), stays: IN })],
    ['one that rolls', 'send', device({ fix: fix(29, 6) })],
    ['one that drove a while ago', 'send', device({ fix: fix(30, 20) })],
    ['one on the course that was not seen for over a minute', 'locate', device({ fix: fix(61) })],
    ['one on the course that was seen a minute ago', 'send', device({ fix: fix(60) })],
    ['one in the barn that was not seen for hours', 'send', device({ fix: fix(9999), stays: IN })],
    ['one that nobody can ask', 'send', device({ fix: fix(61) }), { hasParking: true, isOnline: false }],
    ['one where there is no barn', 'send', device({ fix: fix(61) }), { hasParking: false, isOnline: true }],
  ]

for (const [name, verdict, cart, place = { hasParking: true, isOnline: true }] of LOCKS) {
  test(`locking ${name}: ${verdict}`, () => {
    assert.equal(decideLock(judge([cart]), place, LOCK_RULES, NOW_MS), verdict)
  })
}
