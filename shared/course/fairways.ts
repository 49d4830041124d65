import { areaOf, isInside, type Place } from './plane.ts'
import { type Area, fewer, type HoleLine } from './shapes.ts'
import { simplifyLine, stepsAlong, stripAround } from './strip.ts'

/** Fairway area of a hole, from which carts may be kept off. */
export interface HoleFairway {
  ring: Place[]
  hole: number
}

const STEP_M = 10
/** Number of steps along a hole of the maximum length. */
const STEPS_MAX = 201
/** More than any course has; the largest areas count. */
const FAIRWAYS_MAX = 200
/** Corners that suffice to find the hole along a fairway. */
const OWNED_CORNERS_MAX = 150
/** Minimum number of steps inside; a hole that only crosses a fairway does not own it. */
const OWN_STEPS = 3
/** Width on each side of a hole's line if no fairway is drawn. */
const STRIP_M = 20

/**
 * Assigns a fairway to the hole that runs along it farthest. A numbered hole without one, often short, gets a strip.
 */
export function fairwaysOfHoles(fairways: readonly Area[], holes: readonly HoleLine[]): HoleFairway[] {
  const ways = holes.flatMap(({ line, number }) =>
    number === null ? [] : [{ hole: number, line, steps: stepsAlong(line, STEP_M, STEPS_MAX) }],
  )
  const owned = largest(fairways, FAIRWAYS_MAX).flatMap(({ ring }): HoleFairway[] => {
    const isNear = boxAround(ring)
    const edge = fewer(ring, OWNED_CORNERS_MAX)
    let [owner, most]: [number | null, number] = [null, OWN_STEPS - 1]
    for (const { hole, steps } of ways) {
      const inside = steps.filter((place) => isNear(place) && isInside(edge, place)).length
      if (inside > most) [owner, most] = [hole, inside]
    }
    return owner === null ? [] : [{ ring, hole: owner }]
  })
  const having = new Set(owned.map(({ hole }) => hole))
  const strips = ways
    .filter(({ hole }) => !having.has(hole))
    .map(({ hole, line }) => ({ ring: stripAround(simplifyLine(line, 3), STRIP_M), hole }))
  return [...owned, ...strips].sort((a, b) => a.hole - b.hole)
}

/** Returns the `most` largest areas, in their original order. */
export function largest(areas: readonly Area[], most: number): readonly Area[] {
  if (areas.length <= most) return areas
  const sizes = new Map(areas.map((area) => [area, areaOf(area.ring)]))
  const kept = new Set(areas.toSorted((a, b) => (sizes.get(b) ?? 0) - (sizes.get(a) ?? 0)).slice(0, most))
  return areas.filter((area) => kept.has(area))
}

/** Returns a fast test that excludes places outside the bounding box of a ring. */
function boxAround(ring: readonly Place[]): (place: Place) => boolean {
  const [xs, ys] = [ring.map(({ xM }) => xM), ring.map(({ yM }) => yM)]
  const [west, east] = [Math.min(...xs), Math.max(...xs)]
  const [south, north] = [Math.min(...ys), Math.max(...ys)]
  return ({ xM, yM }) => xM >= west && xM <= east && yM >= south && yM <= north
}
