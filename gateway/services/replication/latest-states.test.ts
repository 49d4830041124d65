import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Events } from '#gateway/events.ts'
import { createLog } from '#shared/log.ts'
import { DEFAULT_SITE_SETTINGS } from '#shared/site/settings.ts'
import { Fleet } from '../fleet.ts'
import { LatestStates } from './latest-states.ts'

function createStates() {
  const events = new Events(createLog('silent'))
  const fleet = new Fleet()
  const toDeviceJson = () => ({})
  return { events, states: new LatestStates({ fleet, events, toDeviceJson, cartReportOf: () => undefined }) }
}

test('a changed device is sent once', () => {
  const { events, states } = createStates()
  events.emit('presenceChanged', { hardwareId: 'cart-1', isOnline: true, atMs: 1 })
  events.emit('presenceChanged', { hardwareId: 'cart-1', isOnline: false, atMs: 2 })
  events.emit('deviceChanged', { hardwareId: 'cart-2' })
  assert.deepEqual(states.takeChanged(), new Set(['cart-1', 'cart-2']))
  assert.deepEqual(states.takeChanged(), new Set())
})

test('a device whose message changed no reading is sent', () => {
  const { events, states } = createStates()
  events.emit('messageAccepted', { hardwareId: 'cart-1' })
  assert.deepEqual(states.takeChanged(), new Set(['cart-1']))
})

for (const [name, event] of [
  ['siteChanged', { settings: DEFAULT_SITE_SETTINGS }],
  ['clockConfirmed', { by: 'admin', atMs: 1 }],
] as const)
  test(`${name}: all devices are sent, because the auto-lock time of each cart may change`, () => {
    const { events, states } = createStates()
    events.emit(name, event)
    assert.equal(states.takeChanged(), null)
  })

test('the removal of a device sends all remaining devices', () => {
  const { events, states } = createStates()
  events.emit('deviceRegistered', { hardwareId: 'cart-1' })
  events.emit('deviceRemoved', { hardwareId: 'cart-1' })
  assert.equal(states.takeChanged(), null)
  assert.deepEqual(states.takeChanged(), new Set())
  assert.equal(states.deviceJson('cart-1'), undefined)
})
