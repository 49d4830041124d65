import type { CartJson } from '#shared/wire/carts.ts'
import type { ZonesJson } from '#shared/wire/zones.ts'
import { metresPerUnit, toX, toY } from './mercator.ts'

/** West, south, east, north on the map's plane. */
export type MapExtent = [west: number, south: number, east: number, north: number]

/** Maximum size of a course: a zone that covers everything does not locate the course. */
const COURSE_MAX_M = 12_000
/** Minimum size of the first view. */
const COURSE_MIN_M = 250
/** Size of the view around the position in the settings. */
const LOCATED_M = 2_000
/** Minimum gain in scale for a rotated map: otherwise north is up. */
const WORTH_TURNING = 1.15
/** Length of one degree of latitude. */
const DEGREE_M = 111_320

/** Returns the first view: the zones of the course, else its map, else the area with most carts; null if unknown. */
export function firstExtent(
  zones: ZonesJson | null,
  carts: Iterable<CartJson>,
  baseExtent: MapExtent | null = null,
): MapExtent | null {
  const extents = (zones?.features ?? []).map(extentOfZone).filter(isOfCourse)
  const whole = extents.reduce<MapExtent | null>(joined, null)
  // zones of two distant courses
  const ofZones = whole !== null && isOfCourse(whole) ? whole : (extents[0] ?? null)
  if (ofZones !== null) return atLeast(ofZones, COURSE_MIN_M)
  return baseExtent === null ? extentOfCarts(carts) : atLeast(baseExtent, COURSE_MIN_M)
}

/** Returns the extent around the position that the settings give. */
export function extentAround({ lat, long }: { lat: number; long: number }): MapExtent {
  const [x, y] = [toX(long), toY(lat)]
  return atLeast([x, y, x, y], LOCATED_M)
}

/** Returns the extent of a zone; for a circle the square around it. */
export function extentOfZone({ geometry, properties }: ZonesJson['features'][number]): MapExtent {
  if (geometry.type === 'Polygon') {
    const ring = geometry.coordinates[0] ?? []
    return ring.reduce<MapExtent>(
      ([west, south, east, north], [long, lat]) => [
        Math.min(west, toX(long)),
        Math.min(south, toY(lat)),
        Math.max(east, toX(long)),
        Math.max(north, toY(lat)),
      ],
      [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY],
    )
  }
  const [x, y] = [toX(geometry.coordinates[0]), toY(geometry.coordinates[1])]
  const radius = (properties.radius_m ?? 0) / metresPerUnit(y)
  return [x - radius, y - radius, x + radius, y + radius]
}

/** True if the course appears larger on a map rotated by a right angle, as a wide course does on a tall screen. */
export function isTurned(
  [west, south, east, north]: MapExtent,
  { widthPx, heightPx }: { widthPx: number; heightPx: number },
): boolean {
  const [width, height] = [east - west, north - south]
  const scale = Math.min(widthPx / width, heightPx / height)
  return Math.min(widthPx / height, heightPx / width) > scale * WORTH_TURNING
}

/** Enlarges an extent by `times` its size on each side, at least to the minimum size of the first view. */
export function expandedExtent([west, south, east, north]: MapExtent, times: number): MapExtent {
  const [x, y] = [(east - west) * times, (north - south) * times]
  return atLeast([west - x, south - y, east + x, north + y], COURSE_MIN_M)
}

function extentOfCarts(carts: Iterable<CartJson>): MapExtent | null {
  const placed = [...carts].flatMap(({ position }) => (position === null ? [] : [position]))
  if (placed.length === 0) return null
  const lat = median(placed.map((position) => position.lat))
  const long = median(placed.map((position) => position.long))
  // a cart that a faulty receiver places at 0, 0 must not show half the world
  const near = placed.filter(
    (position) =>
      Math.abs(position.lat - lat) * DEGREE_M < COURSE_MAX_M / 2 &&
      Math.abs(position.long - long) * DEGREE_M * Math.cos((lat * Math.PI) / 180) < COURSE_MAX_M / 2,
  )
  const extents = near.map((position): MapExtent => {
    const [x, y] = [toX(position.long), toY(position.lat)]
    return [x, y, x, y]
  })
  const whole = extents.reduce<MapExtent | null>(joined, null) ?? [toX(long), toY(lat), toX(long), toY(lat)]
  return atLeast(whole, COURSE_MIN_M)
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}

function joined(a: MapExtent | null, b: MapExtent): MapExtent {
  if (a === null) return b
  return [Math.min(a[0], b[0]), Math.min(a[1], b[1]), Math.max(a[2], b[2]), Math.max(a[3], b[3])]
}

function isOfCourse([west, south, east, north]: MapExtent): boolean {
  const size = Math.max(east - west, north - south) * metresPerUnit((south + north) / 2)
  return size <= COURSE_MAX_M
}

function atLeast([west, south, east, north]: MapExtent, sizeM: number): MapExtent {
  const [x, y] = [(west + east) / 2, (south + north) / 2]
  const half = sizeM / metresPerUnit(y) / 2
  return [Math.min(west, x - half), Math.min(south, y - half), Math.max(east, x + half), Math.max(north, y + half)]
}
