import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cartJson } from '#dashboard/testing/cart-json.ts'
import { boxZone, circleZone, zonesJson } from '#dashboard/testing/zones-json.ts'
import { expandedExtent, extentOfZone, firstExtent, isTurned, type MapExtent } from './first-view.ts'
import { metresPerUnit, toX, toY } from './mercator.ts'

const COURSE = boxZone('course', [-81.6, 28.4, -81.57, 28.42])
const EVERYTHING = boxZone('all', [-179, -80, 179, 80])
const LOST = { lat: 0, long: 0, speed: null, heading: null, at: '2026-05-01T12:00:00.000Z', hardware_id: 'x' }

function holds([west, south, east, north]: MapExtent, long: number, lat: number): boolean {
  return west <= toX(long) && toX(long) <= east && south <= toY(lat) && toY(lat) <= north
}

function widthM([west, south, east]: MapExtent): number {
  return (east - west) * metresPerUnit(south)
}

test('the first view shows the zones of the course', () => {
  assert.deepEqual(firstExtent(zonesJson(COURSE), [cartJson('1', { position: LOST })]), extentOfZone(COURSE))
})

test('a zone that covers everything does not determine the first view', () => {
  assert.deepEqual(firstExtent(zonesJson(EVERYTHING, COURSE), []), extentOfZone(COURSE))
  const extent = firstExtent(zonesJson(EVERYTHING), [cartJson('1')])
  assert.ok(extent !== null && holds(extent, -81.58, 28.41) && widthM(extent) < 1_000)
})

test('without zones the first view is where most carts are, ignoring one stray receiver', () => {
  const carts = [cartJson('1'), cartJson('2'), cartJson('3', { position: LOST })]
  const extent = firstExtent(null, carts)
  assert.ok(extent !== null && holds(extent, -81.58, 28.41) && widthM(extent) < 1_000)
})

test('carts at a single position are shown with a margin around them', () => {
  const extent = firstExtent(null, [cartJson('1'), cartJson('2')])
  assert.ok(extent !== null && Math.abs(widthM(extent) - 250) < 1)
})

test('without any zone or cart position the first view is empty', () => {
  assert.equal(firstExtent(null, []), null)
  assert.equal(firstExtent(zonesJson(), [cartJson('1', { position: null })]), null)
})

test('a circle extends as far as its radius in metres', () => {
  const extent = extentOfZone(circleZone('barn', [-81.58, 60], 100))
  assert.ok(Math.abs(widthM(extent) - 200) < 1)
})

test('the map is rotated if the course is then shown considerably larger', () => {
  const lying: MapExtent = [0, 0, 2_000, 1_000]
  const standing: MapExtent = [0, 0, 1_000, 2_000]
  assert.equal(isTurned(lying, { widthPx: 390, heightPx: 700 }), true)
  assert.equal(isTurned(lying, { widthPx: 700, heightPx: 390 }), false)
  assert.equal(isTurned(standing, { widthPx: 390, heightPx: 700 }), false)
  assert.equal(isTurned(lying, { widthPx: 600, heightPx: 640 }), false)
})

test('an expanded extent keeps its centre', () => {
  const extent = expandedExtent([toX(10), toY(50), toX(10), toY(50)], 2)
  assert.ok(Math.abs((extent[0] + extent[2]) / 2 - toX(10)) < 1e-6)
  assert.ok(Math.abs(widthM(extent) - 250) < 1)
})
