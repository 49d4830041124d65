import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cartJson, openJson, parkedJson } from '#dashboard/testing/cart-json.ts'
import type { CartJson } from '#shared/wire/carts.ts'
import { HEADINGS, Markers, shortened } from './markers.ts'
import { toX } from './mercator.ts'

const fleetOf = (...carts: CartJson[]) => new Map(carts.map((cart) => [cart.cart, cart]))
const drawn = (markers: Markers) => markers.all.map(({ cart }) => cart.cart)

function driving(cart: string, heading: number | null): CartJson {
  const known = cartJson(cart, { is_moving: true })
  return { ...known, position: known.position && { ...known.position, heading } }
}

test('more important carts are drawn above others', () => {
  const markers = new Markers()
  const carts = [cartJson('3', { state: 'outside' }), cartJson('10'), cartJson('2'), cartJson('1', { is_low: true })]
  assert.equal(markers.take(fleetOf(...carts), null, null), true)
  assert.deepEqual(drawn(markers), ['2', '10', '1', '3'])
})

test('carts without a position, or excluded by a filter, are hidden, except the selected one', () => {
  const markers = new Markers()
  const carts = fleetOf(cartJson('1', { position: null, state: 'unknown' }), cartJson('2'), parkedJson('3'))
  markers.take(carts, null, null)
  assert.deepEqual(drawn(markers), ['3', '2'])
  markers.take(carts, 'in', null)
  assert.deepEqual(drawn(markers), ['3'])
  markers.take(carts, 'in', '2')
  assert.deepEqual(drawn(markers), ['3', '2'])
})

test('an unchanged fleet needs no drawing, and markers persist across updates of their carts', () => {
  const markers = new Markers()
  const carts = fleetOf(cartJson('1'))
  markers.take(carts, null, null)
  const marker = markers.find('1')
  assert.equal(markers.take(carts, null, null), false)
  const moved = cartJson('1')
  carts.set('1', { ...moved, position: moved.position && { ...moved.position, long: 10 } })
  assert.equal(markers.take(carts, null, null), true)
  assert.equal(markers.find('1'), marker)
  assert.equal(marker?.x, toX(10))
  carts.delete('1')
  assert.equal(markers.take(carts, null, null), true)
  assert.deepEqual(drawn(markers), [])
})

test('a cart has an arrow while it moves and its heading is known', () => {
  const markers = new Markers()
  markers.take(fleetOf(driving('1', 90), driving('2', null), driving('3', 359), cartJson('4')), null, null)
  const headings = ['1', '2', '3', '4'].map((cart) => markers.find(cart)?.heading)
  assert.deepEqual(headings, [HEADINGS / 4, -1, 0, -1])
})

test('carts of one parking zone form a cluster with its number of open and low carts', () => {
  const markers = new Markers()
  const low = parkedJson('3', { is_low: true })
  const silent = parkedJson('4', { state: 'silent' })
  markers.take(fleetOf(parkedJson('1'), openJson('2'), low, silent, cartJson('5')), null, null)
  const [pill, ...others] = [...markers.pills]
  assert.deepEqual([pill?.count, pill?.open, pill?.low, others.length], [3, 1, 1, 0])
  assert.equal(markers.find('3')?.pill, pill)
  assert.equal(markers.find('4')?.pill, null, 'one that is silent would not be found in it')
})

test('a single cart in its barn does not form a cluster', () => {
  const markers = new Markers()
  markers.take(fleetOf(parkedJson('1'), cartJson('2')), null, null)
  assert.deepEqual([...markers.pills], [])
  assert.equal(markers.find('1')?.pill, null)
})

test('long names are cut between letters, not within one', () => {
  assert.equal(shortened('1234'), '1234')
  assert.equal(shortened('12345'), '123…')
  assert.equal(shortened('🛒🛒🛒🛒🛒'), '🛒🛒🛒…')
})
