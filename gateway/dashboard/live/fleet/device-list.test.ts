import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DeviceJson } from '#shared/wire/devices.ts'
import { isDeviceFound, lockOf } from './device-list.ts'

const AT = '2026-05-01T12:00:00.000Z'
const DEVICE: DeviceJson = {
  short_id: 'k3v9x2qa',
  hardware_id: 'TB-007',
  device_type: 'teebox',
  name: 'Seven',
  cart: '7',
  attributes: {},
  is_online: true,
  group_id: null,
  created_at: AT,
  updated_at: AT,
}

test('a device is found by any of its names', () => {
  for (const typed of ['tb-0', ' seven ', '7', 'K3V9', '']) assert.ok(isDeviceFound(DEVICE, typed), typed)
  assert.equal(isDeviceFound(DEVICE, 'eight'), false)
})

test('the lock is what the device reported last, as a flag or a number', () => {
  const lock = (lock_status?: boolean | number) =>
    lockOf({ attributes: lock_status === undefined ? {} : { lock_status } })
  assert.deepEqual([lock(true), lock(1), lock(false), lock(0), lock()], [true, true, false, false, null])
})
