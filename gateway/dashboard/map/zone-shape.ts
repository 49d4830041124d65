import { toE7 } from '#shared/geo.ts'
import { cornersOf, faultOf } from '#shared/zones/ring.ts'
import { metresPerUnit, toLat, toLong, toX, toY } from './mercator.ts'
import type { ZoneJson } from './zone-draft.ts'

/** Place on the map's plane. */
export type Place = readonly [x: number, y: number]

/** Reason for which the gateway would reject a shape, as a key of the texts. */
export type ShapeFault = 'few' | 'crossing' | 'many' | 'flat'

const DEGREE_DIGITS = 7
export const CORNERS_MAX = 200

/** Returns the corners of a polygon on the map's plane, without the closing one; empty for a circle. */
export function cornersOn({ geometry }: ZoneJson): Place[] {
  if (geometry.type === 'Point') return []
  const ring = geometry.coordinates[0] ?? []
  return ring.slice(0, -1).map(([long, lat]) => [toX(long), toY(lat)])
}

/** Returns the closed ring of these corners. */
export function ringOf(corners: readonly Place[]): ZoneJson['geometry'] {
  const ring = corners.map(([x, y]): [number, number] => [degrees(toLong(x)), degrees(toLat(y))])
  return { type: 'Polygon', coordinates: [[...ring, ...ring.slice(0, 1)]] }
}

export function withMoved(corners: readonly Place[], at: number, to: Place): Place[] {
  return corners.map((corner, i) => (i === at ? to : corner))
}

/** Returns the corners with a new one before the one at `at`. */
export function withInserted(corners: readonly Place[], at: number, place: Place): Place[] {
  return [...corners.slice(0, at), place, ...corners.slice(at)]
}

export function removeCorner(corners: readonly Place[], at: number): Place[] {
  return corners.filter((_, i) => i !== at)
}

/** Returns the midpoint between each corner and the previous one. */
export function middlesOf(corners: readonly Place[]): Place[] {
  return corners.map(([x, y], i) => {
    const [fromX, fromY] = corners.at(i - 1) ?? [x, y]
    return [(x + fromX) / 2, (y + fromY) / 2]
  })
}

/** Returns the index of the nearest place within `reach`; -1 if none. */
export function nearest(places: readonly Place[], [x, y]: Place, reach: number): number {
  let [found, least] = [-1, reach]
  for (const [i, [px, py]] of places.entries()) {
    const distance = Math.hypot(px - x, py - y)
    if (distance <= least) [found, least] = [i, distance]
  }
  return found
}

/** Returns the smallest zone that contains a place, the one that a tap means. */
export function zoneAt(zones: readonly ZoneJson[], place: Place): ZoneJson | null {
  let [found, least]: [ZoneJson | null, number] = [null, Number.POSITIVE_INFINITY]
  for (const zone of zones) {
    const area = areaAround(zone, place)
    if (area !== null && area < least) [found, least] = [zone, area]
  }
  return found
}

/** Returns the area of a zone on the map's plane; null if it does not contain the place. */
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

/** Returns the reason why the gateway would reject a shape; null if it would not. */
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
