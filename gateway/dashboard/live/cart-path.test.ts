import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cartJson } from '#dashboard/testing/cart-json.ts'
import { circleZone, zonesJson } from '#dashboard/testing/zones-json.ts'
import { pathHoles, zoneReach } from './cart-path.ts'

const at: [number, number] = [-81.58, 28.41]
const by = { user_id: 'u', name: 'Jo' }
const UNTIL = '2026-05-01T20:00:00.000Z'
const ON = {
  enabled: true,
  enabled_before: false,
  switched: { until: UNTIL, by },
  switched_at: '2026-05-01T08:00:00.000Z',
}
const fairway = (hole: number, more: object = { enabled: false }) =>
  circleZone(`fairway-${hole}`, at, 20, { type: 'alert', hole, ...more })

test('the listed holes are those with zones that are normally off, by number', () => {
  const zones = zonesJson(
    fairway(10),
    fairway(3, ON),
    circleZone('green-3', at, 20, { type: 'alert', hole: 3 }),
    circleZone('green-4', at, 20, { type: 'alert', hole: 4 }),
    circleZone('hole-5', at, 20, { type: 'hole', hole: 5, enabled: false }),
    circleZone('off', at, 20, { type: 'alert', enabled: false }),
  )
  assert.deepEqual(pathHoles(zones), [
    { hole: 3, zoneIds: ['fairway-3'], onIds: ['fairway-3'], until: UNTIL, by: 'Jo' },
    { hole: 10, zoneIds: ['fairway-10'], onIds: [], until: null, by: null },
  ])
})

test('a zone that is always on cannot be switched off, even if it was overridden with the others', () => {
  const green = circleZone('green-3', at, 20, { type: 'alert', hole: 3, ...ON, enabled_before: true })
  assert.deepEqual(pathHoles(zonesJson(green)), [])
  const both = pathHoles(zonesJson(green, fairway(3, ON)))
  assert.deepEqual(both[0]?.zoneIds, ['fairway-3'])
})

test('a zone that was switched on and off again is off', () => {
  const [hole] = pathHoles(zonesJson(fairway(3, { ...ON, enabled: false })))
  assert.deepEqual([hole?.zoneIds, hole?.onIds], [['fairway-3'], []])
})

test('carts that cannot apply a zone count among all carts', () => {
  const carts = ['12', '3', '1', '2'].map((cart) => cartJson(cart))
  assert.deepEqual(zoneReach({ applied: ['1'], waiting: ['2'] }, carts), {
    has: ['1'],
    waiting: ['2'],
    cannot: ['3', '12'],
  })
})
