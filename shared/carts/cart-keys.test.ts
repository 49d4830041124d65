import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareNatural, groupByCart } from './cart-keys.ts'

const device = (hardwareId: string, cart: string | null = null, name: string | null = null) => ({
  hardwareId,
  cart,
  name,
})
const keys = (...devices: ReturnType<typeof device>[]) =>
  [...groupByCart(devices)].map(([key, own]) => [key, own.map(({ hardwareId }) => hardwareId)])

test('devices with the same number are one cart, others are separate carts', () => {
  assert.deepEqual(keys(device('b', '17'), device('a', '17'), device('c', null, 'Ranger'), device('d')), [
    ['17', ['a', 'b']],
    ['Ranger', ['c']],
    ['d', ['d']],
  ])
})

test('a device whose name is taken is listed by its hardware id, and every device is listed', () => {
  assert.deepEqual(keys(device('a', '17'), device('b', null, '17')), [
    ['17', ['a']],
    ['b', ['b']],
  ])
  assert.deepEqual(keys(device('a', null, 'R'), device('b', null, 'R')), [
    ['R', ['a']],
    ['b', ['b']],
  ])
  assert.equal(keys(device('a', 'b'), device('c', 'x'), device('b', null, 'x')).length, 3)
})

test('keys are exact', () => {
  assert.equal(keys(device('a', '7'), device('b', '07'), device('c', 'a7'), device('d', 'A7')).length, 4)
})

test('carts are sorted in natural order', () => {
  const order = ['10', '2', 'cart 10', '1', 'cart 9', '02', 'A', 'a', '100000000000000000001', '1a'].sort(
    compareNatural,
  )
  assert.deepEqual(order, ['1', '1a', '02', '2', '10', '100000000000000000001', 'A', 'a', 'cart 9', 'cart 10'])
})
