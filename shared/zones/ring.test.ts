import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Point } from './geometry.ts'
import { cornersOf, faultOf } from './ring.ts'

function faultIn(points: readonly (readonly [number, number])[]) {
  return faultOf(cornersOf(points.map(([longE7, latE7]) => ({ latE7, longE7 }))))
}

for (const [what, points] of [
  [
    'a triangle',
    [
      [0, 0],
      [9, 0],
      [0, 9],
    ],
  ],
  [
    'a closed triangle',
    [
      [0, 0],
      [9, 0],
      [0, 9],
      [0, 0],
    ],
  ],
  [
    'a square with a corner on each side',
    [
      [0, 0],
      [5, 0],
      [9, 0],
      [9, 5],
      [9, 9],
      [5, 9],
      [0, 9],
      [0, 5],
    ],
  ],
  [
    'repeated points',
    [
      [0, 0],
      [0, 0],
      [9, 0],
      [9, 0],
      [9, 0],
      [0, 9],
      [0, 9],
      [0, 0],
      [0, 0],
    ],
  ],
  [
    'the other way round',
    [
      [0, 9],
      [9, 0],
      [0, 0],
    ],
  ],
  [
    'a horseshoe one step wide',
    [
      [0, 0],
      [9, 0],
      [9, 9],
      [5, 9],
      [5, 1],
      [4, 1],
      [4, 9],
      [0, 9],
    ],
  ],
  [
    'half the world',
    [
      [-90e7, -90e7],
      [90e7, -90e7],
      [90e7, 90e7],
      [-90e7, 90e7],
    ],
  ],
  [
    'beside the antimeridian',
    [
      [170e7, 0],
      [180e7, 0],
      [180e7, 9],
      [170e7, 9],
    ],
  ],
] as [string, [number, number][]][]) {
  test(`${what} bounds an area`, () => {
    assert.equal(faultIn(points), null)
  })
}

for (const [what, points, code, at] of [
  ['nothing', [], 'too_few_points', 0],
  ['a point', [[1, 1]], 'too_few_points', 0],
  [
    'two points',
    [
      [0, 0],
      [9, 0],
      [0, 0],
    ],
    'too_few_points',
    0,
  ],
  [
    'two points to and fro',
    [
      [0, 0],
      [9, 0],
      [0, 0],
      [9, 0],
      [0, 0],
    ],
    'too_few_points',
    0,
  ],
  [
    'three points on one line',
    [
      [0, 0],
      [4, 4],
      [9, 9],
    ],
    'zero_area',
    0,
  ],
  [
    'many points on one line',
    [
      [0, 0],
      [0, 9],
      [0, 3],
      [0, 7],
      [0, 1],
    ],
    'zero_area',
    0,
  ],
  [
    'a bow-tie',
    [
      [0, 0],
      [9, 9],
      [9, 0],
      [0, 9],
    ],
    'self_crossing',
    0,
  ],
  [
    'a bow-tie of no net area',
    [
      [0, 0],
      [8, 8],
      [8, 0],
      [0, 8],
      [0, 0],
    ],
    'self_crossing',
    0,
  ],
  [
    'a crossing far into the ring',
    [
      [0, 0],
      [9, 0],
      [9, 9],
      [4, 9],
      [4, 8],
      [6, 8],
      [5, 9],
      [0, 9],
    ],
    'self_crossing',
    2,
  ],
  [
    'a pentagram',
    [
      [0, 0],
      [4, 9],
      [8, 0],
      [-1, 6],
      [9, 6],
    ],
    'self_crossing',
    0,
  ],
  [
    'a corner that touches an edge',
    [
      [0, 0],
      [9, 0],
      [9, 9],
      [5, 0],
      [0, 9],
    ],
    'self_crossing',
    0,
  ],
  [
    'a corner that touches a corner',
    [
      [0, 0],
      [9, 0],
      [5, 5],
      [9, 9],
      [0, 9],
      [5, 5],
    ],
    'self_crossing',
    1,
  ],
  [
    'an edge over another',
    [
      [0, 0],
      [9, 0],
      [9, 9],
      [7, 0],
      [3, 0],
      [0, 9],
    ],
    'self_crossing',
    0,
  ],
  [
    'a spike',
    [
      [0, 0],
      [9, 0],
      [9, 9],
      [20, 20],
      [9, 9],
      [0, 9],
    ],
    'self_crossing',
    3,
  ],
  [
    'a spike into the ring',
    [
      [0, 0],
      [9, 0],
      [3, 0],
      [0, 9],
    ],
    'self_crossing',
    1,
  ],
  [
    'a spike where the ring closes',
    [
      [0, 0],
      [9, 0],
      [9, 9],
      [0, 9],
      [0, -5],
    ],
    'self_crossing',
    4,
  ],
  [
    'two corners on both sides of the antimeridian',
    [
      [179e7, 0],
      [-179e7, 0],
      [-179e7, 9],
    ],
    'crosses_antimeridian',
    0,
  ],
] as [string, [number, number][], string, number][]) {
  test(`${what} is refused: ${code} at point ${at}`, () => {
    const fault = faultIn(points)
    assert.deepEqual([fault?.code, fault?.at], [code, at])
  })
}

test('a fault names the point as it was sent, repetitions counted', () => {
  const fault = faultIn([
    [0, 0],
    [0, 0],
    [0, 0],
    [9, 0],
    [9, 9],
    [20, 20],
    [9, 9],
    [0, 9],
  ])
  assert.deepEqual([fault?.code, fault?.at], ['self_crossing', 5])
})

/** Corners around a centre at growing angles: simple, however far each is out. */
function star(radii: readonly number[], jitter: readonly number[]): [number, number][] {
  return radii.map((radius, i) => {
    const angle = ((i + 0.4 * (jitter[i] ?? 0)) / radii.length) * 2 * Math.PI
    return [Math.round(radius * Math.cos(angle)), Math.round(radius * Math.sin(angle))]
  })
}
const jitters = fc.array(fc.double({ min: -1, max: 1, noNaN: true }), { minLength: 200, maxLength: 200 })
const radii = (min: number) =>
  fc.array(fc.integer({ min: 1e6, max: 5e6 }), { minLength: min, maxLength: 200, size: 'max' })

test('stars of up to 200 points bound an area, from whichever point and whichever way round', () => {
  fc.assert(
    fc.property(radii(3), jitters, fc.nat(199), fc.boolean(), (lengths, jitter, start, isReversed) => {
      const ring = star(lengths, jitter)
      const turned = [...ring.slice(start % ring.length), ...ring.slice(0, start % ring.length)]
      assert.equal(faultIn(isReversed ? turned.toReversed() : turned), null)
    }),
    { numRuns: 60 },
  )
})

test('a convex ring with any two neighbours swapped crosses itself', () => {
  fc.assert(
    fc.property(fc.integer({ min: 4, max: 200 }), jitters, fc.nat(198), (count, jitter, at) => {
      const ring = star(
        Array.from({ length: count }, () => 5e6),
        jitter,
      )
      const i = at % (count - 1)
      const [a, b] = ring.slice(i, i + 2)
      assert.ok(a !== undefined && b !== undefined)
      assert.equal(faultIn(ring.with(i, b).with(i + 1, a))?.code, 'self_crossing')
    }),
    { numRuns: 60 },
  )
})

/**
 * Counts who comes to which place. On a grid of 0 to 3 two edges cross after a share of at most eighteenths of each
 * (the cross product of their directions), so walking each edge in all such shares comes to every place two have in
 * common. Places are in steps of 1/lcm(1 … 18): whole numbers.
 */
function isSimpleByWalking(corners: readonly Point[]): boolean {
  const LCM = 12_252_240
  const visits = new Map<string, number>()
  for (const [i, from] of corners.entries()) {
    const to = corners[(i + 1) % corners.length] ?? from
    const places = new Set<string>()
    for (let below = 1; below <= 18; below++) {
      // not the end: the next edge starts there
      for (let above = 0; above < below; above++) {
        const along = (start: number, end: number) => start * LCM + (end - start) * above * (LCM / below)
        places.add(`${along(from.longE7, to.longE7)} ${along(from.latE7, to.latE7)}`)
      }
    }
    for (const place of places) visits.set(place, (visits.get(place) ?? 0) + 1)
  }
  return [...visits.values()].every((count) => count === 1)
}

test('of rings on a grid exactly those are taken that never come to one place twice', () => {
  const corner = fc.record({ latE7: fc.integer({ min: 0, max: 3 }), longE7: fc.integer({ min: 0, max: 3 }) })
  let simple = 0
  fc.assert(
    fc.property(fc.array(corner, { minLength: 3, maxLength: 6 }), (points) => {
      const corners = cornersOf(points)
      const isTaken = faultOf(corners) === null
      assert.equal(isTaken, corners.length >= 3 && isSimpleByWalking(corners))
      if (isTaken) simple++
    }),
    { numRuns: 400 },
  )
  assert.ok(simple > 20, 'too few of them were simple to tell')
})
