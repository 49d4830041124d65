import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { cartJson, openJson, parkedJson } from '#dashboard/testing/cart-json.ts'
import type { CartJson } from '#shared/wire/carts.ts'
import { FLEET_COMPARE, type FleetFilter, orderFleet } from './fleet-order.ts'

const AT = '2026-05-01T12:00:00.000Z'
const SERVICE = { since: AT, why: 'Brakes', reason: null, by: { user_id: 'u', name: 'Jane' } }
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

function order(filter: FleetFilter = 'all', carts: CartJson[] = FLEET): string[] {
  return orderFleet(carts, filter).map(({ cart }) => cart)
}

function sorted(column: keyof typeof FLEET_COMPARE, carts: CartJson[] = FLEET): string[] {
  return carts.toSorted(FLEET_COMPARE[column]).map(({ cart }) => cart)
}

describe('the order of the fleet', () => {
  test('puts the most important first, and the smaller number among equals', () => {
    assert.deepEqual(order(), ['8', '12', '9', '13', '11', '5', '7', '6', '2', '10', '14'])
  })

  test('compares numbers by value, not as text', () => {
    assert.deepEqual(sorted('cart').slice(0, 3), ['2', '5', '6'])
  })

  test('puts carts that were never seen first, then those last seen longest ago', () => {
    assert.deepEqual(sorted('heard').slice(0, 2), ['11', '9'])
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
    assert.deepEqual(sorted('battery', carts), ['3', '2', '1'])
  })

  test('puts unlocked carts first, and carts without a lock last', () => {
    const carts = [cartJson('1', { lock: null }), parkedJson('2'), openJson('3')]
    assert.deepEqual(sorted('lock', carts), ['3', '2', '1'])
  })

  test('is the same whatever order the carts arrived in', () => {
    assert.deepEqual(order('all', [...FLEET].reverse()), order())
  })

  test('includes only carts that match a filter', () => {
    const matching = (filter: FleetFilter) => order(filter).sort((a, b) => Number(a) - Number(b))
    assert.deepEqual(matching('open'), ['5'])
    assert.deepEqual(matching('silent'), ['9', '11'])
    assert.deepEqual(matching('low'), ['12', '13'])
    assert.deepEqual(matching('in'), ['2', '5', '10', '13', '14'])
    assert.deepEqual(matching('out_of_service'), ['14'])
    assert.deepEqual(matching('outside'), ['8'])
  })
})
