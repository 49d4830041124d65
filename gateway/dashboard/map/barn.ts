import { toE7 } from '#shared/geo.ts'
import { METRES_PER_YARD, type Units } from '#shared/units.ts'
import type { CartJson } from '#shared/wire/carts.ts'
import type { ZonesJson } from '#shared/wire/zones.ts'
import { distanceM } from '#shared/zones/geometry.ts'
import { metresPerUnit, toLat, toLong, toX, toY } from './mercator.ts'

type ZoneJson = ZonesJson['features'][number]

/** Circle with its centre on the map's plane and its true radius in metres. */
export interface Circle {
  x: number
  y: number
  radiusM: number
}

const RADIUS_M = { least: 5, first: 30, most: 500 }
/** Step of a tap, so that the displayed radius stays a round number. */
const STEP_M: Readonly<Record<Units, number>> = { metric: 5, imperial: 5 * METRES_PER_YARD }
const DEGREE_DIGITS = 7

/** Returns the barn of the site: the first parking zone. */
export function barnOf(zones: ZonesJson): ZoneJson | undefined {
  return zones.features.find(({ properties }) => properties.type === 'parking')
}

/** Returns a circle around a place with the size of the present barn, or a usual size. */
export function circleAt(x: number, y: number, barn: ZoneJson | undefined): Circle {
  return { x, y, radiusM: kept((barn && radiusOf(barn)) ?? RADIUS_M.first) }
}

/** Returns the cart nearest to a circle and its distance from the centre; null while no cart has a position. */
export function nearestCart(circle: Circle, carts: Iterable<CartJson>): { cart: string; distanceM: number } | null {
  const middle = { latE7: toE7(toLat(circle.y)), longE7: toE7(toLong(circle.x)) }
  let nearest: { cart: string; distanceM: number } | null = null
  for (const { cart, position } of carts) {
    if (position === null) continue
    const metres = distanceM(middle, { latE7: toE7(position.lat), longE7: toE7(position.long) })
    if (nearest === null || metres < nearest.distanceM) nearest = { cart, distanceM: metres }
  }
  return nearest
}

/** Returns the circle of a barn; null for a polygon, which must not be converted without the user's consent. */
export function circleOf({ geometry, properties }: ZoneJson): Circle | null {
  if (geometry.type !== 'Point') return null
  const [long, lat] = geometry.coordinates
  return { x: toX(long), y: toY(lat), radiusM: properties.radius_m ?? RADIUS_M.first }
}

/** Changes the radius by a number of steps. */
export function resizedRadius(circle: Circle, steps: number, units: Units): Circle {
  const radiusM = Math.round(circle.radiusM / STEP_M[units] + steps) * STEP_M[units]
  return { ...circle, radiusM: kept(radiusM) }
}

/** Changes the radius so that the edge passes through a place on the map's plane. */
export function reaching(circle: Circle, x: number, y: number): Circle {
  const radiusM = Math.hypot(x - circle.x, y - circle.y) * metresPerUnit(circle.y)
  return { ...circle, radiusM: kept(Math.round(radiusM)) }
}

/** Replaces the barn by this circle; all other zones stay unchanged. */
export function withBarn(zones: ZonesJson, circle: Circle, name: string): ZonesJson['features'] {
  const barn = barnOf(zones)
  const radius_m = Math.round(circle.radiusM * 10) / 10
  const made: ZoneJson = {
    type: 'Feature',
    id: barn?.id ?? freeId(zones),
    geometry: { type: 'Point', coordinates: [degrees(toLong(circle.x)), degrees(toLat(circle.y))] },
    // a barn that is switched off would have no effect
    properties: {
      ...(barn?.properties ?? { name, type: 'parking', visible: true, switched: null }),
      enabled: true,
      radius_m,
    },
  }
  return barn === undefined ? [...zones.features, made] : zones.features.map((zone) => (zone === barn ? made : zone))
}

function radiusOf({ geometry, properties }: ZoneJson): number {
  if (geometry.type === 'Point') return properties.radius_m ?? RADIUS_M.first
  const ring = geometry.coordinates[0] ?? []
  const xs = ring.map(([long]) => toX(long))
  const ys = ring.map(([, lat]) => toY(lat))
  const size = Math.max(Math.max(...xs) - Math.min(...xs), Math.max(...ys) - Math.min(...ys))
  return Math.round((size * metresPerUnit(ys[0] ?? 0)) / 2)
}

function freeId({ features }: ZonesJson): string {
  const taken = new Set(features.map(({ id }) => id))
  let id = 'barn'
  for (let number = 2; taken.has(id); number += 1) id = `barn-${number}`
  return id
}

function kept(radiusM: number): number {
  return Math.max(RADIUS_M.least, Math.min(RADIUS_M.most, radiusM))
}

function degrees(value: number): number {
  return Number(value.toFixed(DEGREE_DIGITS))
}
