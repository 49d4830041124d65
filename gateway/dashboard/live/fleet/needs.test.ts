import assert from 'node:assert/strict'
import { test } from 'node:test'
import { alertJson as alert } from '#dashboard/testing/alert-json.ts'
import { cartJson, openJson, parkedJson } from '#dashboard/testing/cart-json.ts'
import type { CartJson } from '#shared/wire/carts.ts'
import { type AttentionItems, needsOf } from './needs.ts'

const AT = '2026-05-01T12:00:00.000Z'
const LATER = '2026-05-01T12:05:00.000Z'

/** Formats "outside 74", and "low: 71 72" for a group. */
function shown({ lines, groups }: AttentionItems): string[] {
  return [
    ...lines.map(({ reason, cart }) => `${reason} ${cart?.cart ?? 'site'}`),
    ...groups.map(({ reason, carts }) => `${reason}: ${carts.map(({ cart }) => cart).join(' ')}`),
  ]
}

test('carts that are well, or out of service, need no attention', () => {
  const broken = openJson('4', {
    is_low: true,
    out_of_service: { since: AT, why: 'x', reason: null, by: { user_id: 'u', name: 'U' } },
  })
  assert.deepEqual(needsOf([cartJson('1'), parkedJson('2'), broken], []), { lines: [], groups: [], count: 0 })
})

test('a cart on the course has one item, for its worst problem; the worst of all comes first', () => {
  const needs = needsOf(
    [
      cartJson('75', { is_low: true }),
      cartJson('27', { state: 'silent', is_low: true, last_heard_at: AT }),
      cartJson('73', { state: 'silent', last_heard_at: LATER }),
      cartJson('74', { state: 'outside', is_low: true }),
      parkedJson('3'),
    ],
    [alert('moved_while_locked', '3'), alert('low_battery', '75'), alert('outside', '74'), alert('disk', null)],
  )
  assert.deepEqual(shown(needs), [
    'moved_while_locked 3',
    'outside 74',
    'silent 73',
    'silent 27',
    'low 75',
    'disk site',
  ])
  assert.equal(needs.count, 6)
  assert.equal(needs.lines[1]?.alert?.kind, 'outside')
})

test('several carts in the barn share an item; a cart may be in two items and counts once', () => {
  const needs = needsOf(
    [
      openJson('10', { is_low: true }),
      openJson('2'),
      parkedJson('71', { is_low: true }),
      cartJson('76', { state: 'unknown', position: null }),
      cartJson('77', { state: 'unknown', position: null }),
    ],
    [],
  )
  assert.deepEqual(shown(needs), ['low: 10 71', 'unlocked: 2 10', 'no_position: 76 77'])
  assert.equal(needs.count, 5)
})

test('a single cart in the barn is an ordinary item, even with two problems', () => {
  const needs = needsOf([openJson('10', { is_low: true })], [alert('not_charging', '10')])
  assert.deepEqual(shown(needs), ['low 10'])
  assert.equal(needs.count, 1)
})

test('an acknowledged alert needs no attention', () => {
  const known = { acknowledged_at: LATER }
  const carts = [cartJson('74', { state: 'outside' }), cartJson('75', { is_low: true })]
  const alerts = [alert('outside', '74', known), alert('low_battery', '75', known), alert('clock', null, known)]
  assert.equal(needsOf(carts, alerts).count, 0)
  assert.deepEqual(shown(needsOf(carts, [...alerts, alert('zone_stay', '74')])), ['zone_stay 74'])
})

test('a cart with access outside the course needs no attention there', () => {
  const exempt = {
    zone_types: ['boundary' as const],
    until: LATER,
    why: 'x',
    by: { user_id: 'u', name: 'U' },
  }
  assert.equal(needsOf([cartJson('74', { state: 'outside', exempt })], []).count, 0)
})

test('an alert of a cart that is not known yet is left out', () => {
  assert.equal(needsOf([], [alert('outside', '74')]).count, 0)
})

test('500 carts are evaluated in a moment', () => {
  const carts = Array.from({ length: 500 }, (_, index) =>
    openJson(String(index), { is_low: index % 2 === 0, state: index % 5 === 0 ? 'silent' : 'in' }),
  )
  const { lines, groups, count } = needsOf(carts, [])
  assert.deepEqual([lines.length, groups.length, count], [100, 2, 500])
})

test('a cart that was locked on the course by others than its driver needs attention', () => {
  const locked = (cart: string, source: string, others: Partial<CartJson> = {}) => {
    const known = cartJson(cart, others)
    return { ...known, lock: known.lock && { ...known.lock, is_locked: true, source } }
  }
  const carts = [locked('1', 'remote'), locked('2', 'rfid'), locked('3', 'remote', { state: 'silent' })]
  assert.deepEqual(shown(needsOf([...carts, parkedJson('4')], [])), ['silent 3', 'locked_out 1'])
})
