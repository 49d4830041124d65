import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cartJson } from '#dashboard/testing/cart-json.ts'
import type { AlertJson } from '#shared/wire/alerts.ts'
import type { DeviceJson } from '#shared/wire/devices.ts'
import type { ServerMessage } from '#shared/wire/realtime.ts'
import { Fleet } from './fleet.ts'

const AT = '2026-05-01T12:00:00.000Z'
const LATER = '2026-05-01T12:00:05.000Z'

/** Creates a fleet whose timer the test runs. */
function bench() {
  const timers: (() => void)[] = []
  const fleet = new Fleet((action) => timers.push(action))
  const tick = () => {
    for (const action of timers.splice(0)) action()
  }
  return { fleet, timers, tick }
}

function snapshot(others: Partial<Extract<ServerMessage, { type: 'snapshot' }>> = {}): ServerMessage {
  return { type: 'snapshot', devices: [], carts: [cartJson('17')], alerts: [], time: AT, ...others }
}

function fix(hardwareId: string, lat: number, timestamp = LATER): ServerMessage {
  const times = { timestamp, updated_at: timestamp, last_responded_at: timestamp }
  return { type: 'device_data', hardwareId, payload: { lat, long: -81.5, speed: 12 }, ...times }
}

/** Creates an alert with the members that the fleet reads. */
function alert(closed_at: string | null): AlertJson {
  return { alert_id: 'a1', closed_at } as AlertJson
}

test('listeners are notified at most once per timer, however many messages arrive', () => {
  const { fleet, timers, tick } = bench()
  fleet.take(snapshot())
  for (let n = 0; n < 500; n++) fleet.take(fix('tb-17', 28 + n / 1_000))
  assert.equal(timers.length, 1)
  assert.equal(fleet.version.value, 0)
  tick()
  assert.equal(fleet.version.value, 1)
  fleet.take(fix('tb-17', 29))
  tick()
  assert.equal(fleet.version.value, 2)
})

test('a message that does not concern the fleet notifies no listener', () => {
  const { fleet, timers } = bench()
  fleet.take({ type: 'pong', time: AT })
  fleet.take({ type: 'zones_changed', version: 3 })
  assert.equal(timers.length, 0)
})

test('a snapshot replaces all known state', () => {
  const { fleet } = bench()
  fleet.take(snapshot({ carts: [cartJson('17'), cartJson('18')], alerts: [alert(null)] }))
  fleet.take(snapshot({ carts: [cartJson('18')] }))
  assert.deepEqual([...fleet.carts.keys()], ['18'])
  assert.equal(fleet.alerts.size, 0)
})

test('the fleet is known from the first snapshot on, until another sign-in', () => {
  const { fleet, tick } = bench()
  assert.equal(fleet.isKnown, false)
  fleet.take(snapshot({ carts: [] }))
  tick()
  assert.deepEqual([fleet.isKnown, fleet.version.value], [true, 1])
  fleet.clear()
  tick()
  assert.deepEqual([fleet.isKnown, fleet.version.value], [false, 2])
})

test('between two cart messages a cart moves with the device that determines its position only', () => {
  const { fleet } = bench()
  fleet.take(snapshot())
  fleet.take(fix('tb-17', 28.5))
  assert.deepEqual(fleet.carts.get('17')?.position, {
    lat: 28.5,
    long: -81.5,
    speed: 12,
    heading: null,
    at: LATER,
    hardware_id: 'tb-17',
  })
  const caddie = { hardware_id: 'cc-17', device_type: 'cartcaddie', is_online: true }
  const known = cartJson('17')
  fleet.take({ type: 'cart', cart: { ...known, devices: [...known.devices, caddie] }, timestamp: AT })
  fleet.take(fix('cc-17', 10))
  assert.equal(fleet.carts.get('17')?.position?.lat, 28.5)
  assert.equal(fleet.carts.get('17')?.last_heard_at, LATER)
})

test('a cart message that is older than a fix does not move the cart back', () => {
  const { fleet } = bench()
  fleet.take(snapshot())
  fleet.take(fix('tb-17', 28.5))
  fleet.take({ type: 'cart', cart: cartJson('17', { is_low: true }), timestamp: AT })
  assert.equal(fleet.carts.get('17')?.position?.lat, 28.5)
  assert.equal(fleet.carts.get('17')?.is_low, true)
})

test('presence is updated for the device and its cart', () => {
  const { fleet } = bench()
  // only the members that the fleet reads
  const device = { hardware_id: 'tb-17', is_online: true } as DeviceJson
  fleet.take(snapshot({ devices: [device] }))
  fleet.take({ type: 'device_status', hardwareId: 'tb-17', payload: { is_online: false }, timestamp: AT })
  assert.equal(fleet.devices.get('tb-17')?.is_online, false)
  assert.equal(fleet.carts.get('17')?.devices[0]?.is_online, false)
})

test('removed carts, devices and alerts disappear, and a message of an unknown device adds no cart', () => {
  const { fleet } = bench()
  fleet.take(snapshot({ alerts: [alert(null)] }))
  fleet.take({ type: 'alert', event: 'closed', alert: alert(AT), timestamp: AT })
  fleet.take({ type: 'cart_removed', cart: '17' })
  fleet.take({ type: 'device_removed', hardwareId: 'tb-17' })
  fleet.take(fix('tb-17', 28.5))
  fleet.take({ type: 'device_status', hardwareId: 'nobody', payload: { is_online: true }, timestamp: AT })
  assert.deepEqual([fleet.carts.size, fleet.devices.size, fleet.alerts.size], [0, 0, 0])
})
