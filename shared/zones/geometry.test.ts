import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  distanceM,
  distanceToRingM,
  doSegmentsMeet,
  isInRing,
  type Point,
  packRing,
  scaleAt,
  side,
} from './geometry.ts'

const anywhere = fc.record({
  latE7: fc.integer({ min: -90e7, max: 90e7 }),
  longE7: fc.integer({ min: -180e7, max: 180e7 }),
})
/** Few places, so that shapes often touch, overlap or are collinear. */
const onGrid = fc.record({ latE7: fc.integer({ min: 0, max: 5 }), longE7: fc.integer({ min: 0, max: 5 }) })
/** The same places so far apart that products need more than 53 bits, and off by at most one step. */
const onWideGrid = fc
  .tuple(onGrid, fc.integer({ min: -1, max: 1 }), fc.integer({ min: -1, max: 1 }))
  .map(([{ latE7, longE7 }, dLat, dLong]) => ({
    latE7: latE7 * 300_000_001 + dLat,
    longE7: longE7 * 700_000_001 + dLong,
  }))
const places = fc.oneof(onGrid, onWideGrid)

/** Cross product of b - a and d - c, without rounding. */
function cross(a: Point, b: Point, c: Point, d: Point): bigint {
  const dx = BigInt(b.longE7 - a.longE7)
  const dy = BigInt(b.latE7 - a.latE7)
  return dx * BigInt(d.latE7 - c.latE7) - dy * BigInt(d.longE7 - c.longE7)
}

/** Solves a + t (b - a) = c + u (d - c) in fractions. */
function meetBySolving(a: Point, b: Point, c: Point, d: Point): boolean {
  const below = cross(a, b, c, d)
  if (below !== 0n) {
    const isShare = (above: bigint) => (below > 0n ? above >= 0n && above <= below : above <= 0n && above >= below)
    return isShare(cross(a, c, c, d)) && isShare(cross(a, c, a, b))
  }
  return isBetween(a, b, c) || isBetween(a, b, d) || isBetween(c, d, a) || isBetween(c, d, b)
}

function isBetween(a: Point, b: Point, c: Point): boolean {
  const isWithin = (x: number, y: number, z: number) => (z - x) * (z - y) <= 0
  return cross(a, b, a, c) === 0n && isWithin(a.latE7, b.latE7, c.latE7) && isWithin(a.longE7, b.longE7, c.longE7)
}

/** Winding number of a ring around a point, counted by the quadrants of its corners; edges are inside. */
function isInByWinding(ring: readonly Point[], point: Point): boolean {
  let quarters = 0
  for (const [i, to] of ring.entries()) {
    const from = ring.at(i - 1) ?? to
    if (isBetween(from, to, point)) return true
    const step = (quadrant(point, to) - quadrant(point, from) + 4) % 4
    if (step === 2) quarters += cross(point, from, point, to) > 0n ? 2 : -2
    else quarters += step === 3 ? -1 : step
  }
  return quarters % 8 !== 0
}

function quadrant(center: Point, { latE7, longE7 }: Point): number {
  if (longE7 > center.longE7) return latE7 >= center.latE7 ? 0 : 3
  if (longE7 < center.longE7) return latE7 > center.latE7 ? 1 : 2
  return latE7 > center.latE7 ? 1 : 3
}

test('the side of a line on which a point lies is exact anywhere on earth', () => {
  fc.assert(
    fc.property(fc.oneof(anywhere, places), fc.oneof(anywhere, places), fc.oneof(anywhere, places), (a, b, c) => {
      const exact = cross(a, b, a, c)
      assert.equal(side(a, b, c), exact > 0n ? 1 : exact < 0n ? -1 : 0)
    }),
    { numRuns: 2000 },
  )
})

test('a point one step off a line around the world is not on the line', () => {
  const a = { latE7: -90e7, longE7: -180e7 }
  const b = { latE7: 90e7, longE7: 180e7 }
  assert.deepEqual(
    [-1, 0, 1].map((step) => side(a, b, { latE7: 45e7 + step, longE7: 90e7 })),
    [-1, 0, 1],
  )
})

test('segments meet exactly when the equation of their lines has a solution on both', () => {
  for (const place of [onGrid, onWideGrid]) {
    fc.assert(
      fc.property(place, place, place, place, (a, b, c, d) => {
        assert.equal(doSegmentsMeet(a, b, c, d), meetBySolving(a, b, c, d))
      }),
      { numRuns: 3000 },
    )
  }
})

test('a point is in a ring if the ring winds around it an odd number of times, or on the edge', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.tuple(fc.array(onGrid, { minLength: 1, maxLength: 8 }), onGrid),
        fc.tuple(fc.array(onWideGrid, { minLength: 1, maxLength: 8 }), onWideGrid),
      ),
      ([ring, point]) => {
        assert.equal(isInRing(packRing(ring), point), isInByWinding(ring, point))
      },
    ),
    { numRuns: 5000 },
  )
})

/** Straight through the ellipsoid, from coordinates in space: WGS 84 by its definition. */
function chordM(a: Point, b: Point): number {
  const flattening = 1 / 298.257223563
  const e2 = flattening * (2 - flattening)
  const inSpace = ({ latE7, longE7 }: Point): [number, number, number] => {
    const lat = (latE7 / 180e7) * Math.PI
    const long = (longE7 / 180e7) * Math.PI
    const n = 6378137 / Math.sqrt(1 - e2 * Math.sin(lat) ** 2)
    return [n * Math.cos(lat) * Math.cos(long), n * Math.cos(lat) * Math.sin(long), n * (1 - e2) * Math.sin(lat)]
  }
  const [p, q] = [inSpace(a), inSpace(b)]
  return Math.hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2])
}

for (const lat of [0, 28, -41, 60, 70, -80]) {
  test(`distances are right at ${lat} degrees of latitude`, () => {
    for (const [lengthM, betweenToleranceM, toRingToleranceM] of [
      [10, 1e-5, 1e-3],
      [1000, 1e-3, 0.2],
      [5000, 1e-2, 5],
    ] as const) {
      for (let azimuth = 0; azimuth < 2 * Math.PI; azimuth += 0.1) {
        const { latM, longM } = scaleAt(lat * 1e7)
        const a = { latE7: lat * 1e7, longE7: -81e7 }
        const b = {
          latE7: Math.round(a.latE7 + (lengthM * Math.cos(azimuth)) / latM),
          longE7: Math.round(a.longE7 + (lengthM * Math.sin(azimuth)) / longM),
        }
        assert.ok(Math.abs(distanceM(a, b) - chordM(a, b)) < betweenToleranceM)
        assert.ok(Math.abs(distanceToRingM(packRing([b]), a) - chordM(a, b)) < toRingToleranceM)
      }
    }
  })
}

test('the distance to a ring is that to the nearest point of its edges, not only its corners', () => {
  const { latM, longM } = scaleAt(60e7)
  const at = (eastM: number, northM: number) => ({
    latE7: Math.round(60e7 + northM / latM),
    longE7: Math.round(10e7 + eastM / longM),
  })
  const square = [at(-50, -50), at(50, -50), at(50, 50), at(-50, 50)]
  for (const [eastM, northM, expectedM] of [
    [0, 0, 50],
    [0, 80, 30],
    [-57, 3, 7],
    [53, -54, 5],
    [50, 50, 0],
    [12, 50, 0],
  ] as const) {
    assert.ok(Math.abs(distanceToRingM(packRing(square), at(eastM, northM)) - expectedM) < 0.02, `${eastM} ${northM}`)
  }
})
