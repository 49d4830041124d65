import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { MINUTE_MS } from '#shared/time.ts'
import { type CartDrill, driving, OUT_OF_SERVICE, parked, UNTOUCHED } from '#testing/course/cart-drill.ts'

describe('low_battery', () => {
  const rested = (drill: CartDrill, voltageV: number) => {
    drill.nowMs += 1000
    drill.say({ northM: 0, voltageV })
    drill.evaluate()
  }

  test('opens below the threshold at rest and closes 2 % above it', () => {
    const drill = parked()
    for (const voltageV of [48, 47.99, 48.9, 48.95, 48.97]) rested(drill, voltageV)
    assert.deepEqual(drill.changes, ['opened low_battery', 'closed low_battery'])
    assert.deepEqual(drill.changed[0]?.details, { voltage: 47.99, threshold: 48 })
    assert.equal(drill.changed[0]?.hardwareId, 'lock-17')
  })

  test('opens one alert for a voltage that stays at the threshold for ten minutes', () => {
    const drill = parked()
    drill.pass(600, (second) => drill.say({ northM: 0, voltageV: 48 + 0.8 * Math.sin(second) }))
    assert.deepEqual(drill.changes, ['opened low_battery'])
  })

  test('opens for another vehicle if its kind has this alert, and closes when it no longer has', () => {
    const drill = parked()
    drill.notes = { ...UNTOUCHED, kind: 'ranger' }
    rested(drill, 47)
    const rules = { autoLock: false, lockAtClosing: false, alerts: ['outside'] }
    drill.settings = { ...drill.settings, vehicleKinds: { ...drill.settings.vehicleKinds, ranger: rules } }
    rested(drill, 47)
    assert.deepEqual(drill.changes, ['opened low_battery', 'closed low_battery'])
    drill.notes = UNTOUCHED
    rested(drill, 47)
    assert.deepEqual(drill.openKinds, ['low_battery'])
  })

  test('ignores a battery under load', () => {
    const drill = driving()
    drill.pass(600, (second) => drill.say({ northM: second * 5, speedKmh: 18, voltageV: 42 }))
    assert.deepEqual(drill.changes, [])
  })

  test('uses the current threshold', () => {
    const drill = parked()
    rested(drill, 48.5)
    drill.settings = { ...drill.settings, pack: { ...drill.settings.pack, lowV: 49 } }
    drill.evaluate()
    drill.settings = { ...drill.settings, pack: { ...drill.settings.pack, lowV: null } }
    drill.evaluate()
    assert.deepEqual(drill.changes, ['opened low_battery', 'closed low_battery'])
  })

  test('stays closed after a user closed it until the battery has been charged once', () => {
    const drill = parked()
    rested(drill, 47)
    drill.close('low_battery')
    for (const voltageV of [47, 48.5, 47]) rested(drill, voltageV)
    drill.restart()
    rested(drill, 47)
    assert.deepEqual(drill.changes, ['opened low_battery'])
    for (const voltageV of [49.5, 47]) rested(drill, voltageV)
    assert.deepEqual(drill.changes, ['opened low_battery', 'opened low_battery'])
  })

  test('does not open for a cart out of service and opens once the cart is back', () => {
    const drill = parked()
    drill.notes = OUT_OF_SERVICE
    rested(drill, 47)
    assert.deepEqual(drill.changes, [])
    drill.notes = UNTOUCHED
    drill.evaluate()
    assert.deepEqual(drill.changes, ['opened low_battery'])
  })
})

describe('not_charging', () => {
  /** Came in at two; the site opens at seven. */
  const AT_TWO = Date.UTC(2026, 4, 2, 2)
  const charge = (drill: CartDrill, minutes: number, voltage: (minute: number) => number) => {
    drill.lockIt()
    for (let minute = 0; minute < minutes; minute++) {
      drill.say({ northM: 0, voltageV: voltage(minute) })
      drill.nowMs += MINUTE_MS
      drill.evaluate()
    }
  }
  const only = (drill: CartDrill) => drill.changes.filter((line) => line.includes('not_charging'))

  test('opens when the voltage has not risen for an hour, from three hours before opening time', () => {
    const drill = parked(AT_TWO)
    charge(drill, 119, () => 49)
    assert.deepEqual(only(drill), [])
    charge(drill, 3, () => 49)
    assert.deepEqual(only(drill), ['opened not_charging'])
    assert.equal(drill.open[0]?.details.voltage, 49)
  })

  test('does not open for a battery that is charging, full or unknown', () => {
    const charging = parked(AT_TWO)
    charge(charging, 290, (minute) => 48 + minute / 300)
    // 0.2 V an hour
    assert.deepEqual(only(charging), [])
    const full = parked(AT_TWO)
    charge(full, 290, () => 51)
    assert.deepEqual(only(full), [])
    const unknown = parked(AT_TWO, { pack: { emptyV: null, fullV: null, lowV: null } })
    charge(unknown, 290, () => 49)
    assert.deepEqual(only(unknown), [])
    const mute = parked(AT_TWO)
    mute.pass(3600 * 4)
    assert.deepEqual(only(mute), [])
  })

  test('closes when the cart charges, leaves or goes out of service, and at opening time', () => {
    const ends: ((drill: CartDrill) => void)[] = [
      (drill) => charge(drill, 61, (minute) => 49 + minute / 100),
      (drill) => {
        drill.say({ northM: 100 })
        drill.enter('boundary')
        drill.pass(1)
      },
      (drill) => {
        drill.notes = OUT_OF_SERVICE
        drill.pass(1)
      },
      (drill) => {
        drill.nowMs = Date.UTC(2026, 4, 2, 7)
        drill.pass(1)
      },
      (drill) => charge(drill, 2, () => 51.2),
    ]
    for (const [i, end] of ends.entries()) {
      const drill = parked(AT_TWO)
      charge(drill, 190, () => 49)
      assert.equal(only(drill).length, 1)
      end(drill)
      assert.deepEqual(only(drill), ['opened not_charging', 'closed not_charging'], `end ${i}`)
    }
  })

  test('waits for a confirmed clock, and never opens if the setting is 0 hours', () => {
    const drill = parked(AT_TWO)
    drill.isClockConfirmed = false
    charge(drill, 290, () => 49)
    const never = parked(AT_TWO, { chargeCheckH: 0 })
    charge(never, 290, () => 49)
    assert.deepEqual([...only(drill), ...only(never)], [])
  })
})
