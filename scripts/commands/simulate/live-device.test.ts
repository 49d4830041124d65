import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FakeLink } from '#scripts/testing/fake-link.ts'
import { createRandom } from '#shared/random.ts'
import { createCart, createDeviceModel, planFleet } from './fleet-plan.ts'
import { LiveDevice } from './live-device.ts'
import type { DeviceModel } from './sample.ts'

const START_MS = 1_765_000_000_000
const BOOT = 17

function setUp(hardwareId: string) {
  const plan = planFleet({ seed: 1, carts: 6, center: { lat: 28.41, long: -81.58 }, prefix: 't' })
  const planned = plan.fleet.find((each) => each.devices.some((device) => device.hardwareId === hardwareId))
  const device = planned?.devices.find((each) => each.hardwareId === hardwareId)
  assert.ok(planned !== undefined && device !== undefined)
  const cart = createCart(plan, planned.index)
  cart.startDay(20_000)
  while (cart.speedMps < 4) cart.step()
  const model = createDeviceModel(plan, device, 20_000)
  const taken: number[] = []
  const watched: DeviceModel = {
    get isAwake() {
      return model.isAwake
    },
    observe(atMs, state) {
      const sample = model.observe(atMs, state)
      if (sample !== undefined) taken.push(sample.atMs)
      return sample
    },
    measure: (atMs, state) => model.measure(atMs, state),
  }
  const link = new FakeLink()
  const live = new LiveDevice({
    device,
    model: watched,
    cart,
    gatewayUrl: 'http://127.0.0.1:1',
    boot: BOOT,
    bootedAtMs: START_MS,
    random: createRandom(1),
    createLink: () => link,
  })
  let second = 0
  const drive = (seconds: number, isInShadow = false) => {
    for (let i = 0; i < seconds; i++) {
      second += 1
      cart.step()
      live.observe(START_MS + second * 1000, START_MS + second * 1000 + 20, isInShadow)
    }
  }
  return { live, link, cart, drive, taken }
}

interface Wire {
  ts?: number
  up?: number
  s?: Wire[]
}

/**
 * Returns the times of all samples that a device sent, as the gateway would date them on arrival at that time of day.
 */
function timesSent(payloads: readonly string[]): number[] {
  return payloads.flatMap((payload) => {
    const parsed: Wire | Wire[] = JSON.parse(payload)
    const samples = Array.isArray(parsed) ? parsed : (parsed.s ?? [parsed])
    return samples.map((sample) => sample.ts ?? START_MS + (sample.up ?? Number.NaN))
  })
}

test('readings buffered in a radio shadow are uploaded completely, once and in order', () => {
  for (const shadowS of [5, 60, 200, 2000]) {
    const { link, drive, taken } = setUp('t-cc-003')
    drive(30)
    const sentBefore = link.published.length
    drive(shadowS, true)
    assert.equal(link.published.length, sentBefore, 'nothing leaves a shadow')
    drive(30)
    assert.deepEqual(timesSent(link.of('tlm')), taken)
    assert.ok(taken.length > 0)
  }
})

test('a device without a clock dates its buffered readings by its uptime', () => {
  const { link, drive, taken } = setUp('t-tb-002')
  drive(300, true)
  drive(1)
  const [first = ''] = link.of('tlm')
  assert.match(first, /^\{"boot":17,"up":\d+,"s":\[\{"up":/)
  assert.deepEqual(timesSent([first]), taken)
})

test('a long radio shadow breaks the connection, which is restored at its end', () => {
  const { link, drive } = setUp('t-tb-001')
  drive(10)
  drive(60, true)
  assert.equal(link.signalLosses, 0)
  drive(60, true)
  assert.equal(link.signalLosses, 1)
  drive(1)
  assert.equal(link.connects, 2)
})

test('an unlock command is acknowledged, reported as a lock event with the command id, and completed', () => {
  const { live, link, cart, drive } = setUp('t-tb-001')
  drive(1)
  live.receive('dev/t-tb-001/cmd', `{"id":"c1","cmd":"lock","params":{},"ts":${START_MS},"ttl":60}`)
  assert.equal(cart.isLocked, true)
  const [event = ''] = link.of('evt')
  assert.deepEqual(JSON.parse(event), {
    eid: '17-1',
    event: 'lock',
    source: 'remote',
    cmd: 'c1',
    ts: START_MS + 1020,
  })
  assert.equal(link.of('ack')[0], '{"id":"c1","st":"acknowledged"}')
})

test('commands wait while the device is in a radio shadow', () => {
  const { live, link, drive } = setUp('t-tb-001')
  drive(1)
  drive(1, true)
  live.receive('dev/t-tb-001/cmd', '{"id":"c1","cmd":"locate"}')
  assert.deepEqual(link.of('ack'), [])
  drive(1)
  assert.equal(link.of('ack')[0], '{"id":"c1","st":"acknowledged"}')
})

test('a configuration is acknowledged with its version, and a teebox subscribes to its group', () => {
  const { live, link, drive } = setUp('t-tb-001')
  drive(1)
  live.receive('dev/t-tb-001/cfg', '{"v":12,"ts":1,"group_id":42,"config":{}}')
  live.receive('sit/42/sz', '{"v":7,"z":[]}')
  live.receive('dev/t-tb-001/cfg', 'not json')
  assert.deepEqual(link.of('ack'), ['{"cfg":12}', '{"sz":7}'])
  live.receive('dev/t-tb-001/cfg', '{"v":13,"ts":1,"group_id":null,"config":{}}')
  assert.deepEqual(link.topics, ['sit/42/sz', null])
})

test('a reboot increments the boot count and breaks the connection', () => {
  const { live, link, drive } = setUp('t-tb-001')
  drive(1)
  live.receive('dev/t-tb-001/cmd', '{"id":"c1","cmd":"reboot"}')
  assert.equal(live.boot, BOOT + 1)
  assert.equal(link.signalLosses, 1)
  assert.deepEqual(link.of('ack'), ['{"id":"c1","st":"acknowledged"}', '{"id":"c1","st":"completed"}'])
})

test('a repeated command is answered again and not obeyed again, also after a reconnect', () => {
  const { live, link, cart, drive } = setUp('t-tb-001')
  drive(1)
  const lock = '{"id":"c1","cmd":"lock","params":{},"ts":1765000000000,"ttl":60}'
  live.receive('dev/t-tb-001/cmd', lock)
  cart.turnLock('unlock')
  link.loseSignal()
  drive(1)
  live.receive('dev/t-tb-001/cmd', lock)
  assert.equal(cart.isLocked, false)
  assert.equal(link.of('evt').length, 1)
  assert.equal(link.connects, 2)
})

test('a late command is rejected by its send time, or by its time of receipt without a clock', () => {
  for (const [hardwareId, ts] of [
    ['t-tb-001', START_MS - 60_000],
    ['t-tb-002', START_MS + 5000],
  ] as const) {
    const { live, link, cart, drive } = setUp(hardwareId)
    drive(1)
    const wasLocked = cart.isLocked
    drive(1, true)
    live.receive(`dev/${hardwareId}/cmd`, `{"id":"c1","cmd":"lock","params":{},"ts":${ts},"ttl":60}`)
    drive(61, true)
    assert.deepEqual(link.of('ack'), [])
    drive(1)
    assert.deepEqual(link.of('ack'), ['{"id":"c1","st":"failed","err":"expired"}'])
    assert.equal(cart.isLocked, wasLocked)
  }
})
