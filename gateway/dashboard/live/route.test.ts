import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readRoute, screensFor, toHash } from './route.ts'

test('the address says which screen, and what of it', () => {
  assert.deepEqual(readRoute('#/fleet'), { screen: 'fleet', rest: null })
  assert.deepEqual(readRoute('#/map/17'), { screen: 'map', rest: '17' })
  assert.deepEqual(readRoute('#/more/tablets'), { screen: 'more', rest: 'tablets' })
})

test('what is no screen is the map', () => {
  for (const hash of ['', '#', '#/', '#/nothing', '#pair=7K3M9QXA2BFT', '#/MAP', '#/map/%E0%A4%A'])
    assert.deepEqual(readRoute(hash), { screen: 'map', rest: null }, hash)
})

test('any name of a cart comes back as it was', () => {
  for (const cart of ['17', 'A/1', 'ü ö', '#?&=%', '<b>', '🏌️', 'عربة'])
    assert.deepEqual(readRoute(toHash('map', cart)), { screen: 'map', rest: cart })
  assert.equal(toHash('alerts'), '#/alerts')
})

test('who plays has the map and More', () => {
  assert.deepEqual(screensFor('user'), ['map', 'more'])
  for (const role of ['staff', 'admin'] as const) assert.equal(screensFor(role).length, 5)
})
