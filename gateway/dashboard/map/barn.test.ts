import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cartJson } from '#dashboard/testing/cart-json.ts'
import { boxZone, circleZone, zonesJson } from '#dashboard/testing/zones-json.ts'
import { newZonesSchema } from '#shared/wire/zones.ts'
import { barnOf, circleAt, circleOf, nearestCart, reaching, resizedRadius, withBarn } from './barn.ts'
import { metresPerUnit, toX, toY } from './mercator.ts'

const COURSE = boxZone('course', [-81.6, 28.4, -81.57, 28.42])
const BARN = boxZone('sheds', [-81.581, 28.41, -81.58, 28.411], {
  type: 'parking',
  name: 'Sheds',
  groups: [4],
})
const CIRCLE = { x: toX(-81.58), y: toY(28.41), radiusM: 40 }

test('a first barn is added to the zones that are there', () => {
  const features = withBarn(zonesJson(COURSE), CIRCLE, 'Barn')
  assert.equal(features[0], COURSE)
  assert.deepEqual(features[1], {
    type: 'Feature',
    id: 'barn',
    geometry: { type: 'Point', coordinates: [-81.58, 28.41] },
    properties: { name: 'Barn', type: 'parking', visible: true, switched: null, enabled: true, radius_m: 40 },
  })
  assert.equal(newZonesSchema.safeParse({ type: 'FeatureCollection', features }).success, true)
})

test('a barn that is there is moved, and stays what people call it', () => {
  const features = withBarn(zonesJson(BARN, COURSE), CIRCLE, 'Barn')
  const [barn, course] = features
  assert.equal(course, COURSE)
  assert.deepEqual([barn?.id, barn?.properties.name, barn?.properties.groups], ['sheds', 'Sheds', [4]])
  assert.deepEqual(barn?.geometry, { type: 'Point', coordinates: [-81.58, 28.41] })
  assert.equal(newZonesSchema.safeParse({ type: 'FeatureCollection', features }).success, true)
})

test('a new barn takes an id that nothing has', () => {
  const taken = boxZone('barn', [0, 0, 1, 1])
  assert.equal(withBarn(zonesJson(taken), CIRCLE, 'Barn')[1]?.id, 'barn-2')
})

test('a circle that is the barn comes back, an outline does not', () => {
  const zone = circleZone('barn', [-81.58, 28.41], 40, { type: 'parking' })
  assert.deepEqual(circleOf(zone), CIRCLE)
  assert.equal(circleOf(BARN), null)
  assert.equal(barnOf(zonesJson(COURSE, zone)), zone)
})

test('a new circle is as large as the barn was', () => {
  const circle = circleAt(CIRCLE.x, CIRCLE.y, BARN)
  assert.ok(circle.radiusM > 50 && circle.radiusM < 60, String(circle.radiusM))
  assert.equal(circleAt(0, 0, undefined).radiusM, 30)
})

test('steps and fingers keep a circle within what a barn can be', () => {
  assert.equal(resizedRadius({ ...CIRCLE, radiusM: 42 }, 1, 'metric').radiusM, 45)
  assert.equal(resizedRadius({ ...CIRCLE, radiusM: 5 }, -1, 'metric').radiusM, 5)
  // 50 yards
  assert.equal(resizedRadius({ ...CIRCLE, radiusM: 42 }, 1, 'imperial').radiusM.toFixed(3), '45.720')
  const far = reaching(CIRCLE, CIRCLE.x + 60 / metresPerUnit(CIRCLE.y), CIRCLE.y)
  assert.equal(far.radiusM, 60)
  assert.equal(reaching(CIRCLE, 0, 0).radiusM, 500)
})

test('how far a barn is from the nearest cart is known before it is saved', () => {
  const near = nearestCart(CIRCLE, [cartJson('1'), cartJson('2', { position: null })])
  assert.ok(near?.cart === '1' && near.distanceM < 1)
  const atlantic = nearestCart({ x: 0, y: 0, radiusM: 30 }, [cartJson('1')])
  assert.ok(atlantic !== null && atlantic.distanceM > 5_000_000)
  assert.equal(nearestCart(CIRCLE, [cartJson('2', { position: null })]), null)
})
