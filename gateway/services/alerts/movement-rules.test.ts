import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { CartDrill, DAYTIME, driving, NOON, parked } from '#testing/course/cart-drill.ts'

describe('moved_while_locked', () => {
  const locked = () => {
    const drill = driving()
    drill.lockIt()
    drill.pass(5, () => drill.say({ northM: 0 }))
    return drill
  }
  const OPENED = ['opened moved_while_locked']

  test('opens when the cart is 30 m from where it was within the last two minutes', () => {
    const drill = locked()
    drill.pass(29, (second) => drill.say({ northM: second, speedKmh: 4 }))
    assert.deepEqual(drill.changes, [])
    drill.pass(3, (second) => drill.say({ northM: 29 + second, speedKmh: 4 }))
    assert.deepEqual(drill.changes, OPENED)
  })

  test('closes when the cart has stood still for five minutes', () => {
    const drill = locked()
    drill.pass(40, (second) => drill.say({ northM: second, speedKmh: 4 }))
    drill.pass(299, () => drill.say({ northM: 40 }))
    assert.deepEqual(drill.changes, OPENED)
    drill.pass(5, () => drill.say({ northM: 40 }))
    assert.deepEqual(drill.changes, [...OPENED, 'closed moved_while_locked'])
    drill.pass(600, () => drill.say({ northM: 40 }))
    assert.equal(drill.changes.length, 2)
  })

  for (const [clocks, agoS] of [
    ['the clock of the gateway is half a year ahead', 180 * 86_400],
    ['the clock of the device is an hour behind', 3_600],
    ['the clock of the device is an hour ahead', -3_600],
  ] as const)
    test(`opens and closes once while ${clocks}`, () => {
      const drill = new CartDrill(NOON)
      drill.enter('boundary')
      const say = (northM: number, speedKmh: number) => drill.say({ northM, speedKmh, agoS })
      drill.pass(60, () => say(0, 0))
      drill.lock = { isLocked: true, atMs: drill.nowMs - agoS * 1000, source: 'remote', by: null }
      drill.pass(600, (second) => say(second, 4))
      assert.deepEqual(drill.changes, OPENED)
      drill.pass(299, () => say(600, 0))
      assert.deepEqual(drill.changes, OPENED)
      drill.pass(5, () => say(600, 0))
      assert.deepEqual(drill.changes, [...OPENED, 'closed moved_while_locked'])
    })

  test('ignores a cart that creeps and a single wrong fix', () => {
    const drill = locked()
    // 14 m in two minutes
    drill.pass(1200, (second) => drill.say({ northM: second * 0.12, speedKmh: 0 }))
    drill.pass(1, () => drill.say({ northM: 300 }))
    drill.pass(60, () => drill.say({ northM: 144 }))
    assert.deepEqual(drill.changes, [])
  })

  test('does not open for a receiver whose fixes wander for ten minutes', () => {
    const drill = locked()
    drill.pass(600, (second) => drill.say({ northM: 12 * Math.sin(second * 1.7) }))
    assert.deepEqual(drill.changes, [])
  })

  test('ignores the distance driven before the lock', () => {
    const drill = driving()
    drill.pass(60, (second) => drill.say({ northM: second * 5, speedKmh: 18 }))
    drill.lockIt()
    drill.pass(60, () => drill.say({ northM: 300 }))
    assert.deepEqual(drill.changes, [])
  })

  test('opens on the first fix elsewhere after a start, however long the cart had stood before', () => {
    const drill = parked()
    drill.lockIt()
    drill.pass(3)
    drill.say({ northM: 100, speedKmh: 12 })
    drill.pass(1)
    assert.deepEqual(drill.openKinds, ['moved_while_locked'])
  })

  test('opens when two fixes far apart in time are also far apart in distance', () => {
    const drill = locked()
    drill.pass(600)
    drill.say({ northM: 149, speedKmh: null })
    drill.pass(1)
    assert.deepEqual(drill.changes, [])
    drill.pass(600)
    drill.say({ northM: 500, speedKmh: null })
    drill.pass(1)
    assert.deepEqual(drill.changes, OPENED)
  })

  test('stays open when a moved cart loses its signal', () => {
    const drill = locked()
    drill.pass(40, (second) => drill.say({ northM: second, speedKmh: 4 }))
    drill.isOnline = false
    drill.pass(1200)
    assert.deepEqual(drill.openKinds, ['moved_while_locked', 'silent_on_course'])
  })

  test('reopens on the next movement after a user closed it', () => {
    const drill = locked()
    drill.pass(40, (second) => drill.say({ northM: second, speedKmh: 4 }))
    drill.close('moved_while_locked')
    drill.pass(40, (second) => drill.say({ northM: 40 + second, speedKmh: 4 }))
    drill.pass(400, () => drill.say({ northM: 80 }))
    assert.deepEqual(drill.changes, OPENED)
    drill.pass(40, (second) => drill.say({ northM: 80 + second, speedKmh: 4 }))
    assert.deepEqual(drill.changes, [...OPENED, ...OPENED])
  })

  test('survives a restart and is not duplicated by it', () => {
    const drill = locked()
    drill.pass(40, (second) => drill.say({ northM: second, speedKmh: 4 }))
    drill.restart()
    drill.pass(40, (second) => drill.say({ northM: 40 + second, speedKmh: 4 }))
    assert.deepEqual(drill.changes, OPENED)
  })
})

describe('moved_after_hours', () => {
  const NIGHT = Date.UTC(2026, 4, 1, 23)
  const move = (drill: CartDrill) => drill.pass(60, (second) => drill.say({ northM: second, speedKmh: 4 }))
  const only = (drill: CartDrill) => drill.changes.filter((line) => line.includes('moved'))

  test('opens at night and not by day', () => {
    assert.deepEqual(only(move(parked(NIGHT))), ['opened moved_after_hours'])
    assert.deepEqual(only(move(parked(NOON))), [])
  })

  test('ignores a drive that began before closing time', () => {
    const drill = driving(Date.UTC(2026, 4, 1, 19, 59, 30))
    drill.pass(40, (second) => drill.say({ northM: second * 5, speedKmh: 18 }))
    assert.deepEqual(only(drill), ['opened moved_after_hours'])
    const other = driving(Date.UTC(2026, 4, 1, 19, 59, 30))
    other.pass(30, (second) => other.say({ northM: second * 5, speedKmh: 18 }))
    other.pass(30, () => other.say({ northM: 150 }))
    assert.deepEqual(only(other), [])
  })

  test('waits for a confirmed clock', () => {
    const drill = parked(NIGHT)
    drill.isClockConfirmed = false
    move(drill)
    assert.deepEqual(only(drill), [])
  })

  test('does not open if no opening hours are set', () => {
    assert.deepEqual(only(move(parked(NIGHT, { openingHours: null }))), [])
  })

  test('treats a whole closed day as after hours', () => {
    const drill = parked(NOON, { openingHours: { ...DAYTIME, fri: null } })
    assert.deepEqual(only(move(drill)), ['opened moved_after_hours'])
  })
})
