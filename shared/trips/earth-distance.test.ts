import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { BOUND_M_PER_E7, EARTH_RADIUS_M, EarthDistance, haversineM } from './earth-distance.ts'

const lat = fc.integer({ min: -90e7, max: 90e7 })
const long = fc.integer({ min: -180e7, max: 180e7 })
const step = fc.integer({ min: -572_957, max: 572_957 })

test('a degree along a meridian is a 360th of the circumference', () => {
  const degreeM = (2 * Math.PI * EARTH_RADIUS_M) / 360
  assert.ok(Math.abs(haversineM(0, 0, 1e7, 0) - degreeM) < 1e-6)
  assert.ok(Math.abs(haversineM(80e7, 5e7, 81e7, 5e7) - degreeM) < 1e-6)
})

test('distances are right across the antimeridian, over a pole and to the other side of the Earth', () => {
  const degreeM = (Math.PI * EARTH_RADIUS_M) / 180
  assert.ok(Math.abs(haversineM(0, 179.9e7, 0, -179.9e7) - 0.2 * degreeM) < 1e-6)
  assert.ok(Math.abs(haversineM(89.9e7, 0, 89.9e7, 180e7) - 0.2 * degreeM) < 1e-6)
  assert.ok(Math.abs(haversineM(10e7, 20e7, -10e7, -160e7) - 180 * degreeM) < 1)
})

test('a short step is measured as the haversine measures it', () => {
  const earth = new EarthDistance()
  const tame = fc.integer({ min: -89.9e7, max: 89.9e7 })
  fc.assert(
    fc.property(tame, long, step, step, (latA, longA, dLat, dLong) => {
      const latB = Math.max(-89.9e7, Math.min(89.9e7, latA + dLat))
      const expected = haversineM(latA, longA, latB, longA + dLong)
      const actual = earth.metres(latA, longA, latB, longA + dLong)
      assert.ok(Math.abs(actual - expected) <= 1e-11 * expected, `${actual} is not ${expected}`)
    }),
    { numRuns: 5000 },
  )
})

test('any step is measured as the haversine measures it, to a micrometre even at the poles', () => {
  const earth = new EarthDistance()
  fc.assert(
    fc.property(lat, long, lat, long, step, (latA, longA, latB, longB, dLat) => {
      const near = Math.max(-90e7, Math.min(90e7, latA + dLat))
      for (const [toLat, toLong] of [
        [latB, longB],
        [near, longA],
        [near, longB],
      ] as const) {
        const expected = haversineM(latA, longA, toLat, toLong)
        assert.ok(Math.abs(earth.metres(latA, longA, toLat, toLong) - expected) <= 1e-6)
      }
    }),
    { numRuns: 2000 },
  )
})

test('what was measured before makes no difference', () => {
  const travelled = new EarthDistance()
  fc.assert(
    fc.property(lat, long, step, step, (latA, longA, dLat, dLong) => {
      const there = [latA, longA, latA + dLat, longA + dLong] as const
      assert.equal(travelled.metres(...there), new EarthDistance().metres(...there))
    }),
    { numRuns: 2000 },
  )
})

test('the distance of nearly opposite points, where rounding is worst, is not longer than its bound', () => {
  for (const offE7 of [0, 1, 10, 100, 1000]) {
    const distanceM = haversineM(0, 0, 0, 180e7 - offE7)
    assert.ok(distanceM <= (180e7 - offE7) * BOUND_M_PER_E7, `${offE7}`)
    assert.ok(haversineM(offE7, 0, 0, 180e7) <= (180e7 + offE7) * BOUND_M_PER_E7, `${offE7}`)
  }
})

test('no distance is longer than its bound', () => {
  fc.assert(
    fc.property(lat, long, lat, long, step, step, (latA, longA, latB, longB, dLat, dLong) => {
      const bound = (dLatE7: number, dLongE7: number) => (Math.abs(dLatE7) + Math.abs(dLongE7)) * BOUND_M_PER_E7
      assert.ok(haversineM(latA, longA, latB, longB) <= bound(latB - latA, longB - longA))
      const near = Math.max(-90e7, Math.min(90e7, latA + dLat))
      assert.ok(haversineM(latA, longA, near, longA + dLong) <= bound(near - latA, dLong))
    }),
    { numRuns: 2000 },
  )
})
