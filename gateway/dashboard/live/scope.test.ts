import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cartJson } from '#dashboard/testing/cart-json.ts'
import { hardwareIdsIn, scopeOf } from './scope.ts'

const device = (hardware_id: string) => ({ hardware_id, device_type: 'teebox', is_online: true })
const CARTS = new Map([
  ['17', cartJson('17', { devices: [device('tb-17'), device('cc-17')] })],
  ['18', cartJson('18', { devices: [device('tb-18')] })],
])

test('numbers of carts are all their devices, anything else is a hardware id, each once', () => {
  const typed = ' 17, tb-99 ;18\ntb-18,,'
  assert.deepEqual(hardwareIdsIn({ isAll: false, typed }, CARTS), ['tb-17', 'cc-17', 'tb-99', 'tb-18'])
  assert.deepEqual(hardwareIdsIn({ isAll: false, typed: ' ' }, CARTS), [])
  assert.deepEqual(hardwareIdsIn({ isAll: true, typed: '17' }, CARTS), ['*'])
})

test('what a user has is shown so that it comes to the same again', () => {
  for (const ids of [['*'], ['tb-17', 'x'], []]) {
    const scope = scopeOf({ allowed_hardware_ids: ids })
    assert.deepEqual(hardwareIdsIn(scope, CARTS), ids)
  }
  assert.deepEqual(scopeOf({ allowed_hardware_ids: null }), { isAll: false, typed: '' })
})
