import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { HOUR_MS, MINUTE_MS } from '#shared/time.ts'
import { type CartDrill, DAYTIME, driving, NOON, OUT_OF_SERVICE, parked } from '#testing/course/cart-drill.ts'

describe('closing', () => {
  const EVENING = Date.UTC(2026, 4, 1, 19, 59, 50)
  const stay = (drill: CartDrill, seconds: number) => drill.pass(seconds, () => drill.say({}))

  test('opens at closing time for unlocked carts in the barn and for carts that are out', () => {
    const [open, out] = [parked(EVENING), driving(EVENING)]
    for (const drill of [open, out]) stay(drill, 9)
    assert.deepEqual([...open.changes, ...out.changes], [])
    for (const drill of [open, out]) stay(drill, 60)
    assert.deepEqual(open.changes, ['opened open_after_closing'])
    assert.deepEqual(out.changes, ['opened out_after_closing'])
  })

  test('does not open for locked, out-of-service or unknown carts, or at a site without a barn', () => {
    const locked = parked(EVENING)
    locked.lockIt()
    const unserviceable = parked(EVENING)
    unserviceable.notes = OUT_OF_SERVICE
    const silent = parked(EVENING)
    silent.lock = null
    const homeless = driving(EVENING)
    homeless.zoneContext = { hasParking: false, hasBoundary: false }
    const drills = [locked, unserviceable, silent, homeless]
    for (const drill of drills) stay(drill, 60)
    const shown = drills.map(({ changes }) => changes)
    assert.deepEqual(shown, [[], [], [], []])
  })

  test('closes when the cart is locked or comes in, and at the next opening time', () => {
    const locked = parked(EVENING)
    stay(locked, 60)
    locked.lockIt()
    stay(locked, 2)
    assert.deepEqual(locked.changes, ['opened open_after_closing', 'closed open_after_closing'])
    const back = driving(EVENING)
    stay(back, 60)
    back.enter('parking')
    back.lockIt()
    stay(back, 2)
    assert.deepEqual(back.changes, ['opened out_after_closing', 'closed out_after_closing'])
    const left = parked(EVENING)
    stay(left, 60)
    left.nowMs = Date.UTC(2026, 4, 2, 6, 59, 30)
    stay(left, 29)
    assert.deepEqual(left.openKinds, ['open_after_closing'])
    stay(left, 5)
    assert.deepEqual(left.openKinds, [])
  })

  test('is evaluated up to one hour late after a stop, and not later', () => {
    const [late, tooLate] = [parked(EVENING + HOUR_MS), parked(EVENING + HOUR_MS + MINUTE_MS)]
    for (const drill of [late, tooLate]) stay(drill, 5)
    assert.deepEqual([late.changes, tooLate.changes], [['opened open_after_closing'], []])
    stay(tooLate, 300)
    assert.deepEqual(tooLate.changes, [])
  })

  test('is evaluated once a day, even if the opening hours change later that day', () => {
    const drill = parked(EVENING)
    stay(drill, 60)
    drill.settings = { ...drill.settings, openingHours: hoursUntil(20 * 60 + 5) }
    stay(drill, 400)
    assert.deepEqual(drill.changes, ['opened open_after_closing', 'closed open_after_closing'])
    drill.nowMs += 24 * HOUR_MS
    stay(drill, 2)
    assert.deepEqual(drill.openKinds, ['open_after_closing'])
  })

  test('opens during the night for a cart that comes in unlocked, also after a restart', () => {
    const drill = driving(EVENING)
    stay(drill, 60)
    drill.restart()
    drill.nowMs += 3 * HOUR_MS
    drill.enter('parking')
    stay(drill, 2)
    assert.deepEqual(drill.openKinds, ['open_after_closing'])
  })

  test('gives a cart that is locked at closing time a minute to report its lock', () => {
    const drill = parked(EVENING, { lockAtClosing: true })
    stay(drill, 30)
    drill.lockIt()
    stay(drill, 60)
    assert.deepEqual(drill.changes, [])
    const open = parked(EVENING, { lockAtClosing: true })
    stay(open, 75)
    assert.deepEqual(open.changes, ['opened open_after_closing'])
  })

  test('waits for a confirmed clock and opens only if it is confirmed within an hour of closing time', () => {
    const drill = parked(EVENING)
    drill.isClockConfirmed = false
    stay(drill, 1800)
    assert.deepEqual(drill.changes, [])
    drill.isClockConfirmed = true
    stay(drill, 1)
    assert.deepEqual(drill.changes, ['opened open_after_closing'])
    const late = parked(EVENING)
    late.isClockConfirmed = false
    stay(late, 3700)
    late.isClockConfirmed = true
    stay(late, 60)
    assert.deepEqual(late.changes, [])
  })

  test('opens nothing for the night if the clock started ten hours behind', () => {
    // it is noon, but the clock shows two in the morning and is not confirmed
    const drill = driving(Date.UTC(2026, 4, 1, 2))
    drill.isClockConfirmed = false
    drill.pass(600, (second) => drill.say({ northM: second * 5, speedKmh: 18 }))
    drill.nowMs = NOON
    drill.countFromMs = NOON
    drill.isClockConfirmed = true
    drill.say({ northM: 3000 })
    drill.pass(60, (second) => drill.say({ northM: 3000 + second * 5, speedKmh: 18 }))
    assert.deepEqual(drill.changes, [])
  })

  for (const [name, date, closesUtcHour] of [
    ['when the clocks go forward', '2026-03-29', 18],
    ['when the clocks go back', '2026-10-25', 19],
  ] as const) {
    test(`opens at the local time ${name}`, () => {
      const closesMs = Date.parse(`${date}T${closesUtcHour}:00:00Z`)
      const drill = parked(closesMs - 10_000, { timeZone: 'Europe/Berlin' })
      stay(drill, 9)
      assert.deepEqual(drill.changes, [])
      stay(drill, 2)
      assert.deepEqual(drill.changes, ['opened open_after_closing'])
    })
  }

  test('opens one alert for a cart that crosses the edge of the barn for ten minutes', () => {
    const drill = driving(EVENING)
    drill.pass(600, (second) => {
      drill.say({ northM: second % 20 < 10 ? 8 : -8 })
      drill.lockIt()
      if (second % 20 === 0) drill.enter('parking')
      if (second % 20 === 10) drill.enter('boundary')
    })
    assert.equal(drill.changes.filter((line) => line === 'opened out_after_closing').length, 1)
  })
})

function hoursUntil(closesMinute: number) {
  return Object.fromEntries(
    Object.keys(DAYTIME).map((day) => [day, { opensMinute: 420, closesMinute }]),
  ) as typeof DAYTIME
}
