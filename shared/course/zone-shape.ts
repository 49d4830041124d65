import type { Point } from '#shared/zones/geometry.ts'
import { cornersOf, faultOf } from '#shared/zones/ring.ts'
import { simplify, weightsOf } from '#shared/zones/simplify.ts'
import type { ZoneShape } from '#shared/zones/zone.ts'
import { hullAround } from './hull.ts'
import type { Place, Plane } from './plane.ts'

/** Nobody drives as exactly. */
const FINEST_M = 0.5

/**
 * A zone of at most so many corners: the ring, with corners left out that matter least. One that crosses itself, as the
 * drawings of people do, is the convex line around it.
 */
export function zoneShape(ring: readonly Place[], plane: Plane, cornersMax: number): ZoneShape | null {
  const kept = ringOf(ring, plane) ?? ringOf(hullAround(ring, FINEST_M), plane)
  if (kept === null) return null
  const weights = weightsOf(kept)
  let fewer: readonly Point[] = kept
  for (let toleranceM = FINEST_M; fewer.length > cornersMax && toleranceM < 200; toleranceM *= 1.5)
    fewer = simplify(kept, weights, toleranceM).ring
  if (fewer.length <= cornersMax) return { kind: 'polygon', ring: fewer }
  const hull = ringOf(hullAround(ring, FINEST_M), plane)
  return hull === null || hull.length > cornersMax ? null : { kind: 'polygon', ring: hull }
}

/** The corners of a ring that is one; null for any other. */
export function ringOf(places: readonly Place[], plane: Plane): Point[] | null {
  const corners = cornersOf(places.map((place) => plane.point(place)))
  if (faultOf(corners) !== null) return null
  return corners.map(({ latE7, longE7 }) => ({ latE7, longE7 }))
}
