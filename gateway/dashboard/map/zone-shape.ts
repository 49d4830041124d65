import { toE7 } from '#shared/geo.ts'
import { cornersOf, faultOf } from '#shared/zones/ring.ts'
import { metresPerUnit, toLat, toLong, toX, toY } from './mercator.ts'
import type { ZoneJson } from './zone-draft.ts'

/** A place on the map's plane. */
export type Place = readonly [x: number, y: number]

/** What the gateway would not take, in a word of the texts. */
export type ShapeFault = 'few' | 'crossing' | 'many' | 'flat'

const DEGREE_DIGITS = 7
export const CORNERS_MAX = 200

/** The corners of a polygon on the map's plane, without the one that closes it; none of a circle. */
export function cornersOn({ geometry }: ZoneJson): Place[] {
  if (geometry.type === 'Point') return []
  const ring = geometry.coordinates[0] ?? []
  return ring.slice(0, -1).map(([long, lat]) => [toX(long), toY(lat)])
}

/** A ring of these corners, closed. */
export function ringOf(corners: readonly Place[]): ZoneJson['geometry'] {
  const ring = corners.map(([x, y]): [number, number] => [degrees(toLong(x)), degrees(toLat(y))])
  return { type: 'Polygon', coordinates: [[...ring, ...ring.slice(0, 1)]] }
}

/** The corners with one that was moved. */
export function withMoved(corners: readonly Place[], at: number, to: Place): Place[] {
  return corners.map((corner, i) => (i === at ? to : corner))
}

/** The corners with a new one before that at `at`. */
export function withInserted(corners: readonly Place[], at: number, place: Place): Place[] {
  return [...corners.slice(0, at), place, ...corners.slice(at)]
}

export function removeCorner(corners: readonly Place[], at: number): Place[] {
  return corners.filter((_, i) => i !== at)
}

/** In the middle between each corner and the one before it. */
export function middlesOf(corners: readonly Place[]): Place[] {
  return corners.map(([x, y], i) => {
    const [fromX, fromY] = corners.at(i - 1) ?? [x, y]
    return [(x + fromX) / 2, (y + fromY) / 2]
  })
}

/** The nearest of these places that is no farther than `reach`; -1 where none is. */
export function nearest(places: readonly Place[], [x, y]: Place, reach: number): number {
  let [found, least] = [-1, reach]
  for (const [i, [px, py]] of places.entries()) {
    const distance = Math.hypot(px - x, py - y)
    if (distance <= least) [found, least] = [i, distance]
  }
  return found
}

/** The smallest zone that a place is in: that of a touch. */
export function zoneAt(zones: readonly ZoneJson[], place: Place): ZoneJson | null {
  let [found, least]: [ZoneJson | null, number] = [null, Number.POSITIVE_INFINITY]
  for (const zone of zones) {
    const area = areaAround(zone, place)
    if (area !== null && area < least) [found, least] = [zone, area]
  }
  return found
}

/** How large a zone is, on the map's plane; null where the place is not in it. */
function areaAround({ geometry, properties }: ZoneJson, [x, y]: Place): number | null {
  if (geometry.type === 'Point') {
    const [centerX, centerY] = [toX(geometry.coordinates[0]), toY(geometry.coordinates[1])]
    const radius = (properties.radius_m ?? 0) / metresPerUnit(centerY)
    return Math.hypot(x - centerX, y - centerY) <= radius ? Math.PI * radius ** 2 : null
  }
  let [isInside, twice] = [false, 0]
  const ring = (geometry.coordinates[0] ?? []).map(([long, lat]): Place => [toX(long), toY(lat)])
  for (const [i, [toPx, toPy]] of ring.entries()) {
    const [fromPx, fromPy] = ring[i - 1] ?? [toPx, toPy]
    twice += fromPx * toPy - toPx * fromPy
    if (fromPy > y !== toPy > y && x < ((toPx - fromPx) * (y - fromPy)) / (toPy - fromPy) + fromPx) isInside = !isInside
  }
  return isInside ? Math.abs(twice) / 2 : null
}

/** Why the gateway would not take a shape; null when it would. */
export function shapeFault({ geometry }: ZoneJson): ShapeFault | null {
  if (geometry.type === 'Point') return null
  const points = (geometry.coordinates[0] ?? []).map(([long, lat]) => ({
    latE7: toE7(lat) + 0,
    longE7: toE7(long) + 0,
  }))
  const corners = cornersOf(points)
  if (corners.length > CORNERS_MAX) return 'many'
  const code = faultOf(corners)?.code
  if (code === undefined) return null
  if (code === 'too_few_points') return 'few'
  return code === 'zero_area' ? 'flat' : 'crossing'
}

function degrees(value: number): number {
  return Number(value.toFixed(DEGREE_DIGITS))
}
