import assert from 'node:assert/strict'
import { test } from 'node:test'
import { circleZone } from '#dashboard/testing/zones-json.ts'
import { changesOf, differencesOf, merged, withProposed } from './zone-draft.ts'

const at = (east: number): [number, number] => [-81.58 + east / 10_000, 28.41]
const zone = (id: string, east = 0, more: object = {}) => circleZone(id, at(east), 20, more)
const [A, B, C] = [zone('a'), zone('b'), zone('c')]

test('each zone is listed as added, changed or removed', () => {
  assert.deepEqual(
    [...changesOf([A, B], [A, zone('b', 1), C])],
    [
      ['b', 'changed'],
      ['c', 'added'],
    ],
  )
  assert.deepEqual([...changesOf([A, B], [B])], [['a', 'removed']])
})

test('an override is not a change, while enabling a zone permanently is', () => {
  const by = { user_id: 'u', name: 'Jo' }
  const on = zone('a', 0, { enabled: true, enabled_before: false, switched: { until: null, by } })
  const off = zone('a', 0, { enabled: false })
  assert.deepEqual([...changesOf([off], [on])], [])
  assert.deepEqual([...changesOf([off], [zone('a')])], [['a', 'changed']])
})

test('two users change one set: each sees both changes', () => {
  const [mine, theirs] = [
    [zone('a', 1), B],
    [zone('a', 2), C],
  ]
  assert.deepEqual(differencesOf([A, B], mine, theirs), [
    { id: 'a', name: 'a', mine: 'changed', theirs: 'changed' },
    { id: 'c', name: 'c', mine: null, theirs: 'added' },
    { id: 'b', name: 'b', mine: null, theirs: 'removed' },
  ])
})

test('keeping my version keeps changes of others, except in zones that both changed', () => {
  const kept = merged([A, B, C], [zone('a', 1), C, zone('new')], [zone('a', 2), B, zone('d')])
  assert.deepEqual(kept, [zone('a', 1), zone('d'), zone('new')])
  // a zone that they removed and I changed is restored
  assert.deepEqual(merged([A], [zone('a', 1)], []), [zone('a', 1)])
})

test('a proposed zone gets a free id, and is added once if proposed twice', () => {
  const green = zone('green-7', 0, { name: 'Green 7', type: 'alert', hole: 7 })
  const once = withProposed([A], [green, zone('a', 5)])
  assert.match(once.map(({ id }) => id).join(), /^a,green-7,a-[0-9a-z]+$/)
  assert.equal(withProposed(once, [green, zone('a', 5)]).length, 3)
})
