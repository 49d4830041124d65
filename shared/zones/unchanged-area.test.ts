import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Scale, scaleAt } from './geometry.ts'
import { UnchangedArea } from './unchanged-area.ts'
import { type Fix, NO_ZONE_STATE, type WatchState, watch } from './watch.ts'
import { watchedZones } from './watched-zones.ts'
import type { Zone, ZoneShape } from './zone.ts'

const START_MS = Date.UTC(2026, 4, 1, 12)

interface Place {
  eastM: number
  northM: number
}

/** Two holes side by side, one across both, a barn, a narrow way and a bent one, at a latitude. */
function courseAt(lat: number) {
  const scale: Scale = scaleAt(lat * 1e7)
  const at = ({ eastM, northM }: Place) => ({
    latE7: Math.round(lat * 1e7 + northM / scale.latM),
    longE7: Math.round(10e7 + eastM / scale.longM),
  })
  const ring = (...corners: [number, number][]): ZoneShape => ({
    kind: 'polygon',
    ring: corners.map(([eastM, northM]) => at({ eastM, northM })),
  })
  const shapes = [
    ring([-70, 0], [0, 0], [0, 200], [-70, 200]),
    ring([15, 0], [90, 20], [90, 200], [15, 180]),
    ring([-60, 150], [80, 160], [80, 260], [-60, 260]),
    ring([-200, 40], [200, 40], [200, 44], [-200, 44]),
    ring([-150, -50], [-60, -50], [-60, 90], [-80, 90], [-80, -30], [-150, -30]),
    { kind: 'circle', center: at({ eastM: 0, northM: -80 }), radiusM: 60 } as const,
    { kind: 'circle', center: at({ eastM: 5020, northM: 100 }), radiusM: 5000 } as const,
  ]
  const zones = shapes.map((shape, i): Zone => {
    const id = `z${i}`
    return {
      id,
      name: id,
      type: 'stop',
      isEnabled: true,
      isVisible: false,
      message: null,
      maxSpeedKmh: null,
      hole: null,
      shape,
    }
  })
  return { watched: watchedZones(zones), at }
}

const [FEW, MANY] = [fc.integer({ min: -80, max: 80 }), fc.integer({ min: -600, max: 600 })]
/** Mostly a cart that stands, its receiver wandering, or one that drives; tenths of metres. */
const stepM = fc.oneof(
  { weight: 6, arbitrary: FEW },
  { weight: 3, arbitrary: MANY },
  fc.integer({ min: -4000, max: 4000 }),
)
const track = fc
  .array(fc.record({ seconds: fc.integer({ min: 1, max: 30 }), east: stepM, north: stepM, times: fc.nat(4) }), {
    maxLength: 80,
    size: 'max',
  })
  .map((steps) => {
    let atMs = START_MS
    let [eastM, northM] = [0, 60]
    return steps.flatMap(({ seconds, east, north, times }) => {
      // drawn back to the zones
      eastM = 0.97 * eastM + east / 10
      northM = 0.97 * northM + north / 10
      return Array.from({ length: times + 1 }, (_, i) => {
        atMs += seconds * 1000
        return { atMs, eastM: eastM + i / 2, northM: northM - i / 2 }
      })
    })
  })

for (const lat of [0, 28, -60, 79.9])
  test(`fixes in an unchanged area do not change the zone state, at ${lat} degrees of latitude`, () => {
    const { watched, at } = courseAt(lat)
    let [unchanged, all] = [0, 0]
    fc.assert(
      fc.property(track, (places) => {
        let state = NO_ZONE_STATE
        let spot: UnchangedArea | null = null
        for (const { atMs, ...place } of places) {
          const fix: Fix = { atMs, ...at(place) }
          const { last, zones }: WatchState = state
          // an area is kept while it holds, as in production
          const isHeld: boolean = spot?.holds(fix.latE7, fix.longE7) === true
          if (!isHeld) spot = last === null ? null : UnchangedArea.draw(watched, zones, last, fix)
          const seen = watch(state, watched, fix)
          all++
          if (spot !== null) {
            unchanged++
            assert.deepEqual(seen.events, [])
            assert.deepEqual(seen.state, { ...seen.state, last: fix, zones: spot.after(fix) })
          }
          state = seen.state
        }
      }),
      { numRuns: 400 },
    )
    assert.ok(unchanged > all / 3, `only ${unchanged} of ${all} were calm`)
  })

test('near a pole, where planes bend, no area is unchanged', () => {
  const { watched, at } = courseAt(80.1)
  const fix = { atMs: START_MS, ...at({ eastM: 0, northM: 400 }) }
  assert.equal(UnchangedArea.draw(watched, [], fix, fix), null)
})
