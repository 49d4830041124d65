import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { cartJson, openJson, parkedJson } from '#dashboard/testing/cart-json.ts'
import type { CartJson } from '#shared/wire/carts.ts'
import { FLEET_SORTS, type FleetFilter, type FleetSort, orderFleet } from './fleet-order.ts'

const AT = '2026-05-01T12:00:00.000Z'
const SERVICE = { since: AT, why: 'Brakes', by: { user_id: 'u', name: 'Jane' } }
const FLEET = [
  parkedJson('10'),
  parkedJson('2'),
  openJson('5'),
  cartJson('6'),
  cartJson('7', { is_moving: true }),
  cartJson('8', { state: 'outside' }),
  cartJson('9', { state: 'silent', last_heard_at: '2026-05-01T11:00:00.000Z' }),
  cartJson('11', { state: 'unknown', position: null, last_heard_at: null }),
  cartJson('12', { is_low: true }),
  parkedJson('13', { is_low: true }),
  openJson('14', { out_of_service: SERVICE }),
]

function order(sort: FleetSort, filter: FleetFilter = 'all', carts: CartJson[] = FLEET): string[] {
  return orderFleet(carts, sort, filter).map(({ cart }) => cart)
}

describe('the order of the fleet', () => {
  test('puts the most important first, and the smaller number among equals', () => {
    assert.deepEqual(order('matters'), ['8', '12', '9', '13', '11', '5', '7', '6', '2', '10', '14'])
  })

  test('compares numbers by value, not as text', () => {
    assert.deepEqual(order('number').slice(0, 3), ['2', '5', '6'])
  })

  test('puts carts that were never seen first, then those last seen longest ago', () => {
    assert.deepEqual(order('heard').slice(0, 2), ['11', '9'])
  })

  test('puts the emptiest battery first, and carts without a reading last', () => {
    const battery = {
      voltage: 49,
      at: AT,
      rest_voltage: null,
      rest_at: null,
      percent: null,
      hardware_id: 'd',
    }
    const carts = [
      cartJson('1'),
      cartJson('2', { battery: { ...battery, percent: 80 } }),
      cartJson('3', { battery: { ...battery, percent: 20 } }),
    ]
    assert.deepEqual(order('battery', 'all', carts), ['3', '2', '1'])
  })

  test('is the same whatever order the carts arrived in', () => {
    for (const sort of FLEET_SORTS) assert.deepEqual(order(sort, 'all', [...FLEET].reverse()), order(sort), sort)
  })

  test('includes only carts that match a filter', () => {
    assert.deepEqual(order('number', 'open'), ['5'])
    assert.deepEqual(order('number', 'silent'), ['9', '11'])
    assert.deepEqual(order('number', 'low'), ['12', '13'])
    assert.deepEqual(order('number', 'in'), ['2', '5', '10', '13', '14'])
    assert.deepEqual(order('number', 'out_of_service'), ['14'])
    assert.deepEqual(order('number', 'outside'), ['8'])
  })
})
