import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cartJson, parkedJson } from '#dashboard/testing/cart-json.ts'
import type { ScreenState } from './recall.ts'
import { recallList } from './recall-list.ts'

const recall = {
  recall_id: 'r-1',
  text: 'All carts in',
  started_at: '2026-05-01T12:00:00.000Z',
  by: { user_id: 'u', name: 'Anna' },
}

test('carts outside all parking zones are still out; those to fetch in person come first', () => {
  const broken = { since: recall.started_at, why: 'x', reason: null, by: recall.by }
  const carts = [
    cartJson('10'),
    cartJson('9'),
    cartJson('8'),
    cartJson('7', { state: 'silent' }),
    parkedJson('3'),
    parkedJson('2', { state: 'silent' }),
    cartJson('1', { out_of_service: broken }),
  ]
  const states: Record<string, ScreenState> = {
    10: 'sent',
    9: 'confirmed',
    8: 'none',
    7: 'offline',
    3: 'confirmed',
    2: 'none',
    1: 'none',
    removed: 'sent',
  }
  const list = recallList(
    { recall, screens: new Map(Object.entries(states)) },
    new Map(carts.map((cart) => [cart.cart, cart])),
  )
  assert.deepEqual(
    list.out.map(({ cart, screen }) => `${cart.cart} ${screen}`),
    ['8 none', '7 offline', '10 sent', '9 confirmed'],
  )
  assert.deepEqual(
    list.in.map(({ cart }) => cart),
    ['2', '3'],
  )
  assert.deepEqual([list.confirmed, list.screens], [2, 5])
})
