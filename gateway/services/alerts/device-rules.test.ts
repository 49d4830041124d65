import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DeviceClock } from '#domain/device-clock.ts'
import { HOUR_MS } from '#shared/time.ts'
import { CartDrill } from '#testing/course/cart-drill.ts'

const NOON = Date.UTC(2026, 4, 1, 12)

/** A cart on the course without anything to report. */
function quietCart(): CartDrill {
  const drill = new CartDrill(NOON)
  drill.enter('boundary')
  return drill.pass(5, () => drill.say({ northM: 0 }))
}

test('a device id used twice opens one alert, which closes one minute after the last conflict', () => {
  const drill = quietCart()
  drill.contest()
  drill.pass(100, (second) => {
    if (second <= 60 && second % 20 === 0) drill.contest()
  })
  assert.deepEqual(drill.changes, ['opened device_twice'])
  assert.deepEqual(drill.open[0]?.details, { hardware_id: 'lock-17' })
  assert.equal(drill.open[0]?.hardwareId, 'lock-17')
  drill.pass(30)
  assert.deepEqual(drill.changes, ['opened device_twice', 'closed device_twice'])
  drill.contest()
  drill.pass(5)
  assert.equal(drill.changes.at(-1), 'opened device_twice')
})

test('an alert closed by a user reopens after its condition has ended once', () => {
  const drill = quietCart()
  drill.contest()
  drill.pass(5)
  drill.close('device_twice')
  drill.pass(30, () => {
    drill.contest()
  })
  assert.deepEqual(drill.changes, ['opened device_twice'])
  drill.pass(70)
  drill.contest()
  drill.pass(5)
  assert.deepEqual(drill.changes, ['opened device_twice', 'opened device_twice'])
})

test('a start without a known conflict leaves the alert open for a minute', () => {
  for (const goesOn of [true, false]) {
    const drill = quietCart()
    drill.contest()
    drill.pass(5)
    drill.restart()
    drill.contestedAtMs = null
    drill.pass(50)
    if (goesOn) drill.contest()
    drill.pass(30)
    assert.equal(drill.open.length, Number(goesOn))
    assert.equal(drill.changes.filter((what) => what.startsWith('opened')).length, 1)
  }
})

test('a wrong device clock opens one alert until it is right, even if the offset changes', () => {
  const drill = quietCart()
  drill.sayTimes(-5 * HOUR_MS)
  drill.pass(100)
  assert.deepEqual(drill.changes, ['opened device_clock'])
  assert.deepEqual(drill.open[0]?.details, { hardware_id: 'lock-17', clock_off_s: -5 * 3600 })
  drill.sayTimes(-4 * HOUR_MS)
  drill.pass(100)
  // unknown after a start
  drill.restart()
  drill.deviceClock = new DeviceClock()
  drill.pass(1000, () => drill.say({ northM: 0 }))
  assert.deepEqual(drill.changes, ['opened device_clock'])
  drill.sayTimes(0)
  drill.pass(5)
  assert.deepEqual(drill.changes, ['opened device_clock', 'closed device_clock'])
})
