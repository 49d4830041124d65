import assert from 'node:assert/strict'
import { test } from 'node:test'
import { metresPerUnit, toLat, toLong, toX, toY } from './mercator.ts'

test('a place comes back from the plane', () => {
  for (const [lat, long] of [
    [28.41, -81.58],
    [-54.8, 179.9],
    [0, 0],
  ] as const) {
    assert.ok(Math.abs(toLat(toY(lat)) - lat) < 1e-9)
    assert.ok(Math.abs(toLong(toX(long)) - long) < 1e-9)
  }
})

test('a metre of the plane is a metre at the equator and half of one at 60 degrees', () => {
  assert.equal(metresPerUnit(toY(0)), 1)
  assert.ok(Math.abs(metresPerUnit(toY(60)) - 0.5) < 1e-9)
})

test('a pole has a place', () => {
  assert.ok(Number.isFinite(toY(90)))
  assert.equal(toY(90), toY(85.06))
})
