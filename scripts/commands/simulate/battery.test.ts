import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Battery } from './battery.ts'

const resting = { speedMps: 0, speedChangeMps: 0, isAwake: true, isPluggedIn: false }
const driving = { ...resting, speedMps: 6 }

function run(battery: Battery, seconds: number, load: typeof resting): Battery {
  for (let second = 0; second < seconds; second++) battery.stepOneSecond(load)
  return battery
}

test('the voltage sags under load and recovers at rest', () => {
  const battery = run(new Battery(0.9), 300, resting)
  const restV = battery.voltageV
  const atOnceV = run(battery, 1, driving).voltageV
  const laterV = run(battery, 60, driving).voltageV
  const recoveredV = run(battery, 300, resting).voltageV
  assert.ok(restV - atOnceV > 0.5, `sagged by ${restV - atOnceV} V`)
  assert.ok(laterV < atOnceV)
  assert.ok(recoveredV > laterV + 0.5)
  assert.ok(recoveredV < restV)
})

test('pulling away takes more than rolling', () => {
  const rolling = run(new Battery(0.9), 1, driving).voltageV
  const pulling = run(new Battery(0.9), 1, { ...driving, speedChangeMps: 1 }).voltageV
  assert.ok(pulling < rolling)
})

test('a flat pack is full after a night at the charger', () => {
  const battery = run(new Battery(0.2), 10 * 3600, { ...resting, isAwake: false, isPluggedIn: true })
  assert.ok(battery.charge > 0.99, `${battery.charge}`)
})

test('whatever it has to do, it stays within 40 and 58 V', () => {
  const load = fc.record({
    speedMps: fc.double({ min: 0, max: 7, noNaN: true }),
    speedChangeMps: fc.double({ min: -2, max: 1, noNaN: true }),
    isAwake: fc.boolean(),
    isPluggedIn: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1, noNaN: true }), fc.array(load), (charge, loads) => {
      const battery = new Battery(charge)
      for (const each of loads) {
        run(battery, 20, each)
        assert.ok(battery.voltageV >= 40 && battery.voltageV <= 58, `${battery.voltageV} V`)
      }
    }),
  )
})
