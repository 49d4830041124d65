import { areaOf, isInside, type Place } from './plane.ts'
import { type Area, fewer, type HoleLine } from './shapes.ts'
import { stepsAlong, stripAround, thinned } from './strip.ts'

/** Ground of a hole that carts may be kept off. */
export interface HoleFairway {
  ring: Place[]
  hole: number
}

const STEP_M = 10
/** As many as a hole has that is as long as one may be. */
const STEPS_MAX = 201
/** More than any course has; the largest count. */
const FAIRWAYS_MAX = 200
/** To find the hole that runs along it, a fairway needs no more. */
const OWNED_CORNERS_MAX = 150
/** A hole that only crosses a fairway does not own it. */
const OWN_STEPS = 3
/** Where no fairway is drawn, on each side of the hole's line. */
const STRIP_M = 20

/**
 * The fairways by the hole that runs along them farthest; a numbered hole without one, such as a short one, has a strip
 * along its line.
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
    .map(({ hole, line }) => ({ ring: stripAround(thinned(line, 3), STRIP_M), hole }))
  return [...owned, ...strips].sort((a, b) => a.hole - b.hole)
}

/** As many as `most` of the areas, in the order they have. */
export function largest(areas: readonly Area[], most: number): readonly Area[] {
  if (areas.length <= most) return areas
  const sizes = new Map(areas.map((area) => [area, areaOf(area.ring)]))
  const kept = new Set(areas.toSorted((a, b) => (sizes.get(b) ?? 0) - (sizes.get(a) ?? 0)).slice(0, most))
  return areas.filter((area) => kept.has(area))
}

/** Tells what cannot be inside of a ring, at once. */
function boxAround(ring: readonly Place[]): (place: Place) => boolean {
  const [xs, ys] = [ring.map(({ xM }) => xM), ring.map(({ yM }) => yM)]
  const [west, east] = [Math.min(...xs), Math.max(...xs)]
  const [south, north] = [Math.min(...ys), Math.max(...ys)]
  return ({ xM, yM }) => xM >= west && xM <= east && yM >= south && yM <= north
}
