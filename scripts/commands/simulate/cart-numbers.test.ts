import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chooseCarts, type KnownDevice } from './cart-numbers.ts'
import { planFleet } from './fleet-plan.ts'

const planned = planFleet({ seed: 1, carts: 4, center: { lat: 0, long: 0 }, prefix: 't' }).fleet.flatMap(
  (cart) => cart.devices,
)
const known = (hardwareId: string, more: Partial<KnownDevice> = {}): KnownDevice => ({
  hardware_id: hardwareId,
  name: null,
  cart: null,
  ...more,
})
const cartsAlongside = (...devices: KnownDevice[]) => Object.fromEntries(chooseCarts(planned, devices, 't'))

test('devices of one cart have its number, counted from 1', () => {
  assert.deepEqual(cartsAlongside(), {
    't-tb-001': '1',
    't-cc-001': '1',
    't-tb-002': '2',
    't-cc-003': '3',
    't-tb-004': '4',
    't-cc-004': '4',
  })
})

test('a real cart keeps its number, whether it has it as its cart, its name or its hardware id', () => {
  const carts = cartsAlongside(known('a', { cart: '1' }), known('b', { name: '2' }), known('3'))
  assert.deepEqual([carts['t-tb-001'], carts['t-cc-001']], ['t 1', 't 1'])
  assert.deepEqual([carts['t-tb-002'], carts['t-cc-003'], carts['t-tb-004']], ['t 2', 't 3', '4'])
})

test('a simulated device that a user has put into a cart stays there', () => {
  const carts = cartsAlongside(known('t-tb-001', { cart: 'Ranger' }), known('t-cc-001'))
  assert.deepEqual([carts['t-tb-001'], carts['t-cc-001']], ['Ranger', '1'])
})

test('a name stays within the limit of a cart, and is left empty rather than duplicated', () => {
  const choose = (...devices: KnownDevice[]) => chooseCarts(planned, devices, 'x'.repeat(48)).get('t-tb-001') ?? null
  assert.equal(choose(known('a', { cart: '1' })), `${'x'.repeat(14)} 1`)
  assert.equal(choose(known('a', { cart: '1' }), known('b', { cart: `${'x'.repeat(14)} 1` })), null)
})
