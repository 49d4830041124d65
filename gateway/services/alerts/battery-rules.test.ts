import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { MINUTE_MS } from '#shared/time.ts'
import { type CartDrill, driving, OUT_OF_SERVICE, parked, UNTOUCHED } from '#testing/course/cart-drill.ts'

describe('low_battery', () => {
  const rested = (drill: CartDrill, voltageV: number) => {
    drill.nowMs += 1000
    drill.say({ northM: 0, voltageV })
    drill.look()
  }

  test('opens below the threshold at rest, and closes two per cent above it', () => {
    const drill = parked()
    for (const voltageV of [48, 47.99, 48.9, 48.95, 48.97]) rested(drill, voltageV)
    assert.deepEqual(drill.heard, ['opened low_battery', 'closed low_battery'])
    assert.deepEqual(drill.changed[0]?.details, { voltage: 47.99, threshold: 48 })
    assert.equal(drill.changed[0]?.hardwareId, 'lock-17')
  })

  test('ten minutes of a voltage at its threshold are one', () => {
    const drill = parked()
    drill.pass(600, (second) => drill.say({ northM: 0, voltageV: 48 + 0.8 * Math.sin(second) }))
    assert.deepEqual(drill.heard, ['opened low_battery'])
  })

  test('is not about a pack that is under load', () => {
    const drill = driving()
    drill.pass(600, (second) => drill.say({ northM: second * 5, speedKmh: 18, voltageV: 42 }))
    assert.deepEqual(drill.heard, [])
  })

  test('goes by the threshold as it is now', () => {
    const drill = parked()
    rested(drill, 48.5)
    drill.settings = { ...drill.settings, pack: { ...drill.settings.pack, lowV: 49 } }
    drill.look()
    drill.settings = { ...drill.settings, pack: { ...drill.settings.pack, lowV: null } }
    drill.look()
    assert.deepEqual(drill.heard, ['opened low_battery', 'closed low_battery'])
  })

  test('one that a person closed is not opened again before the pack was charged once', () => {
    const drill = parked()
    rested(drill, 47)
    drill.close('low_battery')
    for (const voltageV of [47, 48.5, 47]) rested(drill, voltageV)
    drill.restart()
    rested(drill, 47)
    assert.deepEqual(drill.heard, ['opened low_battery'])
    for (const voltageV of [49.5, 47]) rested(drill, voltageV)
    assert.deepEqual(drill.heard, ['opened low_battery', 'opened low_battery'])
  })

  test('a cart out of service opens none, and one when it is back', () => {
    const drill = parked()
    drill.notes = OUT_OF_SERVICE
    rested(drill, 47)
    assert.deepEqual(drill.heard, [])
    drill.notes = UNTOUCHED
    drill.look()
    assert.deepEqual(drill.heard, ['opened low_battery'])
  })
})

describe('not_charging', () => {
  /** It came in at two, opening is at seven. */
  const AT_TWO = Date.UTC(2026, 4, 2, 2)
  const charge = (drill: CartDrill, minutes: number, voltage: (minute: number) => number) => {
    drill.lockIt()
    for (let minute = 0; minute < minutes; minute++) {
      drill.say({ northM: 0, voltageV: voltage(minute) })
      drill.nowMs += MINUTE_MS
      drill.look()
    }
  }
  const only = (drill: CartDrill) => drill.heard.filter((line) => line.includes('not_charging'))

  test('opens when the voltage has not risen for an hour, from three hours before opening on', () => {
    const drill = parked(AT_TWO)
    charge(drill, 119, () => 49)
    assert.deepEqual(only(drill), [])
    charge(drill, 3, () => 49)
    assert.deepEqual(only(drill), ['opened not_charging'])
    assert.equal(drill.open[0]?.details.voltage, 49)
  })

  test('a pack that charges, is full, or of which nothing is known is none', () => {
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

  test('is over when it charges, when it leaves, out of service, and at opening', () => {
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

  test('waits for a clock that is confirmed, and 0 hours are never', () => {
    const drill = parked(AT_TWO)
    drill.isClockConfirmed = false
    charge(drill, 290, () => 49)
    const never = parked(AT_TWO, { chargeCheckH: 0 })
    charge(never, 290, () => 49)
    assert.deepEqual([...only(drill), ...only(never)], [])
  })
})
