import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createCart, createDeviceModel, planFleet } from './fleet-plan.ts'
import type { Sample } from './sample.ts'

const START_MS = 1_765_000_000_000
const plan = planFleet({ seed: 1, carts: 6, center: { lat: 28.41, long: -81.58 }, prefix: 't' })

/** Returns every sample of one day, with the true speed at its time and the state of the lock. */
function dayOf(hardwareId: string): { sample: Sample; speedMps: number; isLocked: boolean }[] {
  const planned = plan.fleet.find((cart) => cart.devices.some((device) => device.hardwareId === hardwareId))
  const device = planned?.devices.find((each) => each.hardwareId === hardwareId)
  assert.ok(planned !== undefined && device !== undefined)
  const cart = createCart(plan, planned.index)
  const model = createDeviceModel(plan, device, 20_000)
  cart.startDay(20_000)
  const samples = []
  for (let second = 1; second <= 86_400; second++) {
    cart.step()
    const sample = model.observe(START_MS + second * 1000, cart)
    if (sample !== undefined) samples.push({ sample, speedMps: cart.speedMps, isLocked: cart.isLocked })
  }
  return samples
}

test('a teebox reports every 10 s on its way and every 10 minutes at rest', () => {
  const samples = dayOf('t-tb-001')
  for (const [i, { sample, speedMps }] of samples.entries()) {
    const before = samples[i - 1]
    if (before === undefined) continue
    const gapS = (sample.atMs - before.sample.atMs) / 1000
    assert.ok(gapS <= 600, `${gapS} s`)
    if (speedMps > 0.4 && before.speedMps > 0.4) assert.ok(gapS <= 25, `${gapS} s on its way`)
  }
  assert.ok(samples.length > 300 && samples.length < 1500, `${samples.length}`)
})

test('every teebox sample has position, speed, voltage and lock', () => {
  for (const { sample, isLocked } of dayOf('t-tb-001')) {
    const { fields } = sample
    assert.ok(Number(fields.lat) > 28 && Number(fields.long) < -81)
    assert.ok(Number(fields.speed) >= 0 && Number(fields.speed) < 28)
    assert.ok(Number(fields.battery_voltage) > 40 && Number(fields.battery_voltage) < 58)
    assert.equal(fields.lock_status, isLocked ? 1 : 0)
  }
})

test('a cartcaddie reports every few seconds while the cart is in use, and sleeps otherwise', () => {
  const samples = dayOf('t-cc-003')
  const gapsS = samples.slice(1).map(({ sample }, i) => (sample.atMs - (samples[i]?.sample.atMs ?? 0)) / 1000)
  assert.ok(gapsS.filter((gap) => gap <= 5).length > gapsS.length * 0.99)
  assert.ok(samples.length > 2000)
  const last = samples.at(-1)?.sample.atMs ?? 0
  assert.ok(last < START_MS + 18 * 3_600_000, 'asleep at night')
  assert.ok(samples.some(({ sample }) => typeof sample.fields.screen_brightness === 'number'))
  assert.ok(samples.some(({ sample }) => typeof sample.fields.fw === 'string'))
  assert.ok(samples.some(({ sample }) => typeof sample.fields.lock_status === 'boolean'))
})

test('a fleet mixes carts with a teebox, with a cartcaddie and with both; one device of each has the lock', () => {
  const kinds = new Set(plan.fleet.map((cart) => cart.devices.map((device) => device.deviceType).join('+')))
  assert.deepEqual([...kinds], ['teebox+cartcaddie', 'teebox', 'cartcaddie'])
  for (const cart of plan.fleet) assert.equal(cart.devices.filter((device) => device.hasLock).length, 1)
})

test('what a cart carries does not depend on the seed', () => {
  assert.deepEqual(planFleet({ ...plan, seed: 99 }).fleet, plan.fleet)
})
