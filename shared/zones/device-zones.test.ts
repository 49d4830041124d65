import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { atOnce } from '#shared/budgets/in-turns.ts'
import { COMPACT_BYTES_MAX, compactBytes } from './compact.ts'
import { countForDevices, fitZones } from './device-zones.ts'
import { distanceToRingM, type Point, packRing, scaleAt } from './geometry.ts'
import { faultOf } from './ring.ts'
import { simplify, weightsOf } from './simplify.ts'
import type { Zone, ZoneType } from './zone.ts'

const { latM, longM } = scaleAt(28.4e7)

function at(eastM: number, northM: number): Point {
  return { latE7: Math.round(28.4e7 + northM / latM), longE7: Math.round(-81.6e7 + eastM / longM) }
}

function zone(id: string, ring: readonly Point[], type: ZoneType = 'stop', isEnabled = true): Zone {
  const rest = { isVisible: false, message: null, maxSpeedKmh: null, hole: null }
  return { id, name: id, type, isEnabled, ...rest, shape: { kind: 'polygon', ring } }
}

/** A star: its corners go around a place at these distances, so it never crosses itself. */
function star(radii: readonly number[], eastM = 0): Point[] {
  return radii.map((radius, i) => {
    const angle = (i / radii.length) * 2 * Math.PI
    return at(eastM + radius * Math.cos(angle), radius * Math.sin(angle))
  })
}

/** Points along the edges of a ring, a metre or so apart. */
function alongEdges(ring: readonly Point[]): Point[] {
  return ring.flatMap((from, i) => {
    const to = ring[(i + 1) % ring.length] ?? from
    return Array.from({ length: 10 }, (_, step) => ({
      latE7: from.latE7 + ((to.latE7 - from.latE7) * step) / 10,
      longE7: from.longE7 + ((to.longE7 - from.longE7) * step) / 10,
    }))
  })
}

/** Maximum distance between the two edges. */
function apartM(one: readonly Point[], other: readonly Point[]): number {
  const oneWay = (from: readonly Point[], to: readonly Point[]) =>
    Math.max(...alongEdges(from).map((point) => distanceToRingM(packRing(to), point)))
  return Math.max(oneWay(one, other), oneWay(other, one))
}

const radii = fc.array(fc.integer({ min: 20, max: 200 }), { minLength: 4, maxLength: 60 })

test('a simplified ring deviates from the original by at most its stated loss', () => {
  fc.assert(
    fc.property(radii, fc.integer({ min: 1, max: 80 }), (distances, toleranceM) => {
      const ring = star(distances)
      const simplified = simplify(ring, weightsOf(ring), toleranceM)
      assert.ok(simplified.lossM <= toleranceM)
      assert.ok(simplified.ring.every((corner) => ring.includes(corner)))
      // a hundredth for the plane it is measured in
      assert.ok(apartM(ring, simplified.ring) <= simplified.lossM * 1.01 + 0.05)
    }),
    { numRuns: 300 },
  )
})

test('a simplified ring is still a valid ring', () => {
  fc.assert(
    fc.property(radii, fc.integer({ min: 1, max: 500 }), (distances, toleranceM) => {
      const ring = star(distances)
      const kept = simplify(ring, weightsOf(ring), toleranceM).ring
      const corners = kept.map(({ latE7, longE7 }, place) => ({ latE7, longE7, at: place }))
      // always a ring, except for star corners that coincide
      const drawn = ring.map(({ latE7, longE7 }, place) => ({ latE7, longE7, at: place }))
      if (faultOf(drawn) === null) assert.equal(faultOf(corners), null)
    }),
    { numRuns: 300 },
  )
})

test('a comb whose teeth would cross keeps the corners it needs', () => {
  const teeth = Array.from({ length: 20 }, (_, i) => [at(i * 4, 0), at(i * 4 + 2, i % 2 === 0 ? 100 : 3)])
  const ring = [...teeth.flat(), at(80, -1), at(0, -1)]
  for (const toleranceM of [0.5, 2, 10, 50, 200]) {
    const { ring: kept } = simplify(ring, weightsOf(ring), toleranceM)
    assert.equal(faultOf(kept.map((corner, place) => ({ ...corner, at: place }))), null, `${toleranceM} m`)
  }
})

test('zones that fit stay unchanged', () => {
  const zones = [zone('a', star(Array(50).fill(100)))]
  assert.equal(atOnce(fitZones(zones)).zones, zones)
  assert.equal(atOnce(fitZones(zones)).lossM, 0)
})

test('a course of 18 fairways and greens fits with a loss of a metre or two', () => {
  const wavy = (corners: number, radius: number, i: number) =>
    star(
      Array.from({ length: corners }, (_, k) => radius + 3 * Math.sin(k * 1.7 + i)),
      i * 300,
    )
  const zones = Array.from({ length: 18 }, (_, i) => [
    zone(`fairway-${i}`, wavy(40, 100, i), 'slow'),
    zone(`green-${i}`, wavy(20, 15, i)),
  ]).flat()
  const { bytes, lossM } = atOnce(fitZones(zones))
  assert.ok(compactBytes(zones) > COMPACT_BYTES_MAX)
  assert.ok(bytes <= COMPACT_BYTES_MAX && bytes > COMPACT_BYTES_MAX * 0.9, `${bytes} bytes`)
  assert.ok(lossM > 0 && lossM < 4, `${lossM} m`)
})

test('fitted zones are within the size limit and deviate by at most the reported loss', () => {
  fc.assert(
    fc.property(
      fc.array(fc.array(fc.integer({ min: 20, max: 200 }), { minLength: 100, maxLength: 200 }), {
        minLength: 8,
        maxLength: 20,
      }),
      (courses) => {
        const zones = courses.map((distances, i) => zone(`z${i}`, star(distances, i * 500)))
        const fitted = atOnce(fitZones(zones))
        assert.ok(fitted.bytes <= COMPACT_BYTES_MAX)
        assert.equal(fitted.bytes, compactBytes(fitted.zones))
        if (fitted.lossM === 0) return
        for (const [i, { shape }] of fitted.zones.entries()) {
          const drawn = zones[i]?.shape
          if (shape.kind !== 'polygon' || drawn?.kind !== 'polygon') assert.fail()
          assert.ok(apartM(drawn.ring, shape.ring) <= fitted.lossM * 1.01 + 0.05)
        }
      },
    ),
    { numRuns: 20 },
  )
})

test('zones that cannot fit at any loss are reported as too long without delay', () => {
  const zones = Array.from({ length: 100 }, (_, i) => zone(`${'界'.repeat(60)}${i}`, star(Array(200).fill(100))))
  const startMs = performance.now()
  const { bytes } = atOnce(fitZones(zones))
  assert.ok(bytes > COMPACT_BYTES_MAX)
  assert.ok(performance.now() - startMs < 5_000)
})

test('zones that devices do not get are not counted and lose no corners', () => {
  const ring = star(Array.from({ length: 200 }, (_, i) => 100 + (i % 2)))
  const zones = [
    ...Array.from({ length: 20 }, (_, i) => zone(`h${i}`, ring, 'hole')),
    zone('boundary', ring, 'boundary'),
    zone('off', ring, 'stop', false),
    ...Array.from({ length: 10 }, (_, i) => zone(`s${i}`, ring)),
  ]
  const { zones: fitted } = atOnce(fitZones(zones))
  assert.equal(countForDevices(zones), 10)
  assert.deepEqual(fitted.slice(0, 22), zones.slice(0, 22))
})
