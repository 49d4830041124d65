import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cartJson, openJson, parkedJson } from '#dashboard/testing/cart-json.ts'
import { countCarts, matchesFilter, searchAgain, searchCarts, typedCart } from './cart-filter.ts'

const named = (cart: string, name: string) => {
  const known = cartJson(cart)
  return { ...known, devices: known.devices.map((device) => ({ ...device, name })) }
}

test('a cart is counted by its state, and as low in any state; other vehicles are counted apart', () => {
  const carts = [
    cartJson('1'),
    parkedJson('2', { is_low: true }),
    openJson('3'),
    cartJson('4', { state: 'outside' }),
    cartJson('5', { state: 'silent' }),
    cartJson('6', { state: 'unknown', position: null }),
    cartJson('7', { state: 'unknown', position: null, last_heard_at: null }),
    cartJson('90', { kind: 'ranger', is_low: true }),
  ]
  assert.deepEqual(countCarts(carts), { out: 1, in: 2, low: 1, silent: 2, outside: 1, others: 1 })
})

test('without a filter every cart matches', () => {
  assert.equal(matchesFilter(cartJson('1', { state: 'silent' }), null), true)
  assert.equal(matchesFilter(cartJson('1'), 'in'), false)
})

test('the exact number comes first, then matching prefixes, then names', () => {
  const carts = [named('9', 'Seventeen 17'), cartJson('170'), cartJson('17'), cartJson('217'), cartJson('8')]
  assert.deepEqual(
    searchCarts(carts, ' 17 ').map(({ cart }) => cart),
    ['17', '170', '217', '9'],
  )
})

test('an empty search finds no cart, and a limit bounds the result', () => {
  const carts = Array.from({ length: 30 }, (_, index) => cartJson(String(index + 1)))
  assert.deepEqual(searchCarts(carts, '  '), [])
  assert.deepEqual(
    searchCarts(carts, '1', 3).map(({ cart }) => cart),
    ['1', '10', '11'],
  )
})

test('a search entered before the carts are loaded opens the best match, later only an exact one', () => {
  const carts = [cartJson('170'), named('9', 'Seventeen 17')]
  assert.equal(searchAgain(carts, '17', true)?.cart, '170')
  assert.equal(searchAgain(carts, '17', false), undefined)
  assert.equal(searchAgain([...carts, cartJson('17')], ' 17 ', false)?.cart, '17')
  assert.equal(searchAgain([], '17', true), undefined)
  assert.equal(searchAgain(carts, ' ', true), undefined)
})

test('a number is complete if no other number begins with it', () => {
  const carts = ['1', '7', '12', '17', 'A7'].map((cart) => cartJson(cart))
  const typed = (text: string) => typedCart(carts, text)?.cart
  assert.deepEqual(['7', '17', ' a7 ', '1', '2', ''].map(typed), ['7', '17', 'A7', undefined, undefined, undefined])
})
