import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CartJson } from '#shared/wire/carts.ts'
import { isMovingTooFast, lockDeviceOf, screenOf } from './safe-lock.ts'

const AT = '2026-05-01T12:00:00.000Z'
const NOW_MS = Date.parse(AT) + 10_000

function device(hardware_id: string, device_type: string, is_online = true): CartJson['devices'][number] {
  return { hardware_id, device_type, is_online }
}

function at(speed: number | null): Pick<CartJson, 'position'> {
  return { position: { lat: 28.41, long: -81.58, speed, heading: null, at: AT, hardware_id: 'tb-17' } }
}

test('the tee box receives the lock command, and of two the one that is connected', () => {
  const [screen, gone, here] = [device('cc', 'cartcaddie'), device('tb-1', 'teebox', false), device('tb-2', 'teebox')]
  assert.equal(lockDeviceOf({ devices: [screen, gone, here] }), here)
  assert.equal(lockDeviceOf({ devices: [screen, gone] }), gone)
  assert.equal(lockDeviceOf({ devices: [screen] }), screen)
  assert.equal(lockDeviceOf({ devices: [] }), undefined)
})

test('a message goes to a screen', () => {
  const screen = device('cc', 'cartcaddie')
  assert.equal(screenOf({ devices: [device('tb', 'teebox'), screen] }), screen)
  assert.equal(screenOf({ devices: [device('tb', 'teebox')] }), undefined)
  const other = device('tb', 'talking teebox')
  assert.equal(screenOf({ devices: [other] }), undefined)
  assert.equal(screenOf({ devices: [other] }, new Set(['talking teebox'])), other)
})

test('a cart is too fast by the rule of the gateway, while its position is recent', () => {
  assert.equal(isMovingTooFast(at(6.1), NOW_MS), true)
  assert.equal(isMovingTooFast(at(6), NOW_MS), false)
  assert.equal(isMovingTooFast(at(6), NOW_MS, 5), true)
  assert.equal(isMovingTooFast(at(12), NOW_MS + 20_000), false)
  assert.equal(isMovingTooFast(at(null), NOW_MS), false)
  assert.equal(isMovingTooFast({ position: null }, NOW_MS), false)
})
