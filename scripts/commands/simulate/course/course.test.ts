import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { bayOf, createCourse } from './course.ts'
import { distanceM, toLatLong } from './plane.ts'
import { createShadows, isInShadow } from './radio.ts'

const center = { lat: 28.41, long: -81.58 }

test('every seed gives a plausible course of 18 holes', () => {
  fc.assert(
    fc.property(fc.nat(100_000), (seed) => {
      const { holes, clubhouse } = createCourse(seed, center)
      assert.deepEqual(
        holes.map((hole) => hole.number),
        Array.from({ length: 18 }, (_, i) => i + 1),
      )
      assert.equal(
        holes.reduce((sum, hole) => sum + hole.par, 0),
        72,
      )
      for (const [i, hole] of holes.entries()) {
        assert.ok(
          hole.fairway.lengthM > 80 && hole.fairway.lengthM < 560,
          `hole ${hole.number}: ${hole.fairway.lengthM} m`,
        )
        const next = holes[i + 1]
        if (next !== undefined) assert.ok(distanceM(hole.green, next.tee) < 260, `from ${hole.number} to the next tee`)
        assert.ok(distanceM(hole.green, clubhouse) < 2500)
      }
    }),
    { numRuns: 50 },
  )
})

test('the course lies around its centre', () => {
  const { holes } = createCourse(1, center)
  for (const { tee } of holes) {
    const { lat, long } = toLatLong(center, tee)
    assert.ok(Math.abs(lat - center.lat) < 0.02 && Math.abs(long - center.long) < 0.02)
  }
})

test('no two carts share a bay', () => {
  const course = createCourse(1, center)
  const bays = new Set(Array.from({ length: 500 }, (_, i) => JSON.stringify(bayOf(course, i))))
  assert.equal(bays.size, 500)
})

test('shadows leave the clubhouse and the barn in reach', () => {
  fc.assert(
    fc.property(fc.nat(10_000), (seed) => {
      const course = createCourse(seed, center)
      const shadows = createShadows(seed, course)
      assert.equal(shadows.length, 3)
      assert.equal(isInShadow(shadows, course.clubhouse), false)
      assert.equal(isInShadow(shadows, course.barn), false)
    }),
    { numRuns: 50 },
  )
})
