import type { Place } from './plane.ts'

const CORNERS = 12

/** Returns the convex outline at a distance of `roomM` or a little less from all places, counter-clockwise. */
export function hullAround(places: readonly Place[], roomM: number): Place[] {
  const angles = Array.from({ length: CORNERS }, (_, i) => (2 * Math.PI * i) / CORNERS)
  return convexHull(
    // without the distance first, as there may be a hundred thousand places
    convexHull(places).flatMap(({ xM, yM }) =>
      angles.map((angle) => ({ xM: xM + roomM * Math.cos(angle), yM: yM + roomM * Math.sin(angle) })),
    ),
  )
}

/** Andrew's monotone chain; counter-clockwise, without repeating the first place. */
function convexHull(places: readonly Place[]): Place[] {
  if (places.length < 3) return [...places]
  const sorted = [...places].sort((a, b) => a.xM - b.xM || a.yM - b.yM)
  return [...halfHull(sorted), ...halfHull(sorted.toReversed())]
}

function halfHull(sorted: readonly Place[]): Place[] {
  const hull: Place[] = []
  for (const place of sorted) {
    while (!turnsLeft(hull.at(-2), hull.at(-1), place)) hull.pop()
    hull.push(place)
  }
  return hull.slice(0, -1)
}

function turnsLeft(a: Place | undefined, b: Place | undefined, c: Place): boolean {
  if (a === undefined || b === undefined) return true
  return (b.xM - a.xM) * (c.yM - a.yM) - (b.yM - a.yM) * (c.xM - a.xM) > 0
}
