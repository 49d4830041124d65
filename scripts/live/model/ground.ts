/** Place on the course, in metres east and north of the middle of the barn. */
export interface Spot {
  readonly x: number
  readonly y: number
}

export interface Area {
  readonly id: string
  readonly type: 'parking' | 'boundary' | 'stop' | 'hole'
  readonly ring: readonly Spot[]
  readonly hole?: number
}

const LAT = 50.1
const LONG = 8.6
const M_PER_DEGREE = 111_320
const HOLES = 18
const EDGE_M = 20
/** Distances to the edge from which a cart is inside, and from which it has left. */
const [INSIDE_M, OUTSIDE_M] = [1, 12]

export const BARN: Spot = { x: 0, y: 0 }
/** Middle of the pond, in which carts must not be. */
export const POND: Spot = { x: 0, y: 700 }

/** Middle of each hole, along a loop that begins and ends near the barn. */
export const HOLE_SPOTS: readonly Spot[] = Array.from({ length: HOLES }, (_, i) => {
  const angle = ((i + 1) / (HOLES + 1)) * 2 * Math.PI
  return { x: Math.round(450 * Math.sin(angle)), y: Math.round(450 - 450 * Math.cos(angle)) }
})

export const AREAS: readonly Area[] = [
  { id: 'barn', type: 'parking', ring: square(BARN, 30) },
  { id: 'course', type: 'boundary', ring: square({ x: 0, y: 450 }, 800) },
  { id: 'pond', type: 'stop', ring: square(POND, 40) },
  ...HOLE_SPOTS.map((spot, i) => ({ id: `hole-${i + 1}`, type: 'hole' as const, ring: square(spot, 45), hole: i + 1 })),
]

function square({ x, y }: Spot, halfM: number): Spot[] {
  return [
    { x: x - halfM, y: y - halfM },
    { x: x + halfM, y: y - halfM },
    { x: x + halfM, y: y + halfM },
    { x: x - halfM, y: y + halfM },
  ]
}

/** Degrees with seven decimals, as a device sends them. */
export function toDegrees({ x, y }: Spot): { lat: number; long: number } {
  const long = LONG + x / (M_PER_DEGREE * Math.cos((LAT * Math.PI) / 180))
  return { lat: Math.round((LAT + y / M_PER_DEGREE) * 1e7) / 1e7, long: Math.round(long * 1e7) / 1e7 }
}

/** The zones as the body of a request. */
export function zonesGeoJson(): object {
  const features = AREAS.map(({ id, type, ring, hole }) => ({
    type: 'Feature',
    id,
    properties: { type, name: id, ...(hole === undefined ? {} : { hole }) },
    geometry: {
      type: 'Polygon',
      coordinates: [[...ring, ring[0] as Spot].map((spot) => Object.values(toDegrees(spot)).toReversed())],
    },
  }))
  return { type: 'FeatureCollection', features }
}

export function distanceM(one: Spot, other: Spot): number {
  return Math.hypot(one.x - other.x, one.y - other.y)
}

/** True if a spot is in an area of a type. */
export function isIn(type: Area['type'], spot: Spot): boolean {
  return AREAS.some((area) => area.type === type && isInside(spot, area.ring))
}

/** True if a spot is within 20 m of an edge, where a receiver may be on either side. */
export function isAtEdge(spot: Spot): boolean {
  return AREAS.some(({ ring }) => edgeM(spot, ring) < EDGE_M)
}

/** 1 well inside of a ring, -1 well outside, 0 near its edge. */
export function sideOf(spot: Spot, ring: readonly Spot[]): number {
  const isIn = isInside(spot, ring)
  if (edgeM(spot, ring) < (isIn ? INSIDE_M : OUTSIDE_M)) return 0
  return isIn ? 1 : -1
}

/** True if the angles under which the edges are seen add up to a whole turn. Judges zones without their code. */
function isInside(spot: Spot, ring: readonly Spot[]): boolean {
  let turn = 0
  for (const [i, from] of ring.entries()) {
    const to = ring[(i + 1) % ring.length] as Spot
    const angle = Math.atan2(to.y - spot.y, to.x - spot.x) - Math.atan2(from.y - spot.y, from.x - spot.x)
    turn += angle > Math.PI ? angle - 2 * Math.PI : angle < -Math.PI ? angle + 2 * Math.PI : angle
  }
  return Math.abs(turn) > Math.PI
}

/** Distance to the nearest edge. */
function edgeM(spot: Spot, ring: readonly Spot[]): number {
  return Math.min(
    ...ring.map((from, i) => {
      const to = ring[(i + 1) % ring.length] as Spot
      const [dx, dy] = [to.x - from.x, to.y - from.y]
      const along = ((spot.x - from.x) * dx + (spot.y - from.y) * dy) / (dx * dx + dy * dy)
      const t = Math.min(1, Math.max(0, along))
      return distanceM(spot, { x: from.x + t * dx, y: from.y + t * dy })
    }),
  )
}
