import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cartJson } from '#dashboard/testing/cart-json.ts'
import { cartStateKey } from './cart-state-key.ts'

test('a cart whose last position has no speed is not shown as driving', () => {
  const { position } = cartJson('7')
  assert.ok(position !== null)
  const at = (speed: number | null) =>
    cartStateKey(cartJson('7', { is_moving: true, position: { ...position, speed } }))
  assert.deepEqual([at(0), at(0.9), at(8), at(null)], ['out', 'out', 'moving', 'moving'])
})
