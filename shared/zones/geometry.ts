/** Position in integers of 1e-7 degree. */
export interface Point {
  latE7: number
  longE7: number
}

/** Metres per 1e-7 degree at a latitude, with which the surroundings are treated as a plane. */
export interface Scale {
  latM: number
  longM: number
}

// WGS 84: semi-major axis and first eccentricity squared. Source: NGA.STND.0036, table 3.
const SEMI_MAJOR_AXIS_M = 6_378_137
const ECCENTRICITY_SQUARED = 6.694_379_990_141e-3
const RADIANS_PER_E7 = Math.PI / 180e7

/**
 * Radii of curvature in the meridian and in the prime vertical, times an angle. Distances from a point in the plane of
 * its latitude are accurate to a millimetre at 10 m and to 0.2 m at 1 km, up to 80 degrees north or south.
 */
export function scaleAt(latE7: number): Scale {
  const lat = latE7 * RADIANS_PER_E7
  const w = 1 - ECCENTRICITY_SQUARED * Math.sin(lat) ** 2
  const primeVerticalM = SEMI_MAJOR_AXIS_M / Math.sqrt(w)
  const meridianM = (primeVerticalM * (1 - ECCENTRICITY_SQUARED)) / w
  return { latM: meridianM * RADIANS_PER_E7, longM: primeVerticalM * Math.cos(lat) * RADIANS_PER_E7 }
}

/** Distance in the plane halfway between the two: accurate to 5 mm at 5 km, up to 80 degrees north or south. */
export function distanceM(a: Point, b: Point): number {
  const { latM, longM } = scaleAt((a.latE7 + b.latE7) / 2)
  return Math.hypot((b.latE7 - a.latE7) * latM, (b.longE7 - a.longE7) * longM)
}

/**
 * Side of the line from a to b on which the point c is: positive to the left, negative to the right, 0 on it. Exact:
 * differences are exact, and rounding cannot reverse the order of two products, only make them equal.
 */
export function side(a: Point, b: Point, c: Point): number {
  const eastNorth = (b.longE7 - a.longE7) * (c.latE7 - a.latE7)
  const northEast = (b.latE7 - a.latE7) * (c.longE7 - a.longE7)
  if (eastNorth > northEast) return 1
  if (eastNorth < northEast) return -1
  if (Math.abs(eastNorth) <= Number.MAX_SAFE_INTEGER) return 0
  const exact =
    BigInt(b.longE7 - a.longE7) * BigInt(c.latE7 - a.latE7) - BigInt(b.latE7 - a.latE7) * BigInt(c.longE7 - a.longE7)
  return exact > 0n ? 1 : exact < 0n ? -1 : 0
}

export function isSamePlace(a: Point, b: Point): boolean {
  return a.latE7 === b.latE7 && a.longE7 === b.longE7
}

/** True if two segments share any point, including their ends. Exact. */
export function doSegmentsMeet(a: Point, b: Point, c: Point, d: Point): boolean {
  if (
    Math.max(a.latE7, b.latE7) < Math.min(c.latE7, d.latE7) ||
    Math.max(c.latE7, d.latE7) < Math.min(a.latE7, b.latE7) ||
    Math.max(a.longE7, b.longE7) < Math.min(c.longE7, d.longE7) ||
    Math.max(c.longE7, d.longE7) < Math.min(a.longE7, b.longE7)
  ) {
    return false
  }
  // Their boxes overlap, so collinear segments meet as well.
  return side(a, b, c) * side(a, b, d) <= 0 && side(c, d, a) * side(c, d, b) <= 0
}

/** Packs a ring into alternating latitudes and longitudes, the first point repeated. Avoids property accesses. */
export function packRing(ring: readonly Point[]): Float64Array {
  return Float64Array.from([...ring, ...ring.slice(0, 1)].flatMap(({ latE7, longE7 }) => [latE7, longE7]))
}

/** True if a point is in a packed ring or on its edge, by the number of edges that a ray to the east crosses. Exact. */
export function isInRing(packed: Float64Array, point: Point): boolean {
  const { latE7 } = point
  let isInside = false
  let fromLatE7 = packed[0] ?? Number.NaN
  for (let at = 2; at < packed.length; at += 2) {
    const toLatE7 = packed[at] ?? Number.NaN
    const isFromAbove = fromLatE7 > latE7
    const isCrossing = isFromAbove !== toLatE7 > latE7
    if (isCrossing || fromLatE7 === latE7 || toLatE7 === latE7) {
      const from = { latE7: fromLatE7, longE7: packed[at - 1] ?? 0 }
      const to = { latE7: toLatE7, longE7: packed[at + 1] ?? 0 }
      if (isCrossing) {
        const turn = side(from, to, point)
        if (turn === 0) return true
        if (turn > 0 !== isFromAbove) isInside = !isInside
      } else if (isOnLevelEdge(from, to, point)) return true
    }
    fromLatE7 = toLatE7
  }
  return isInside
}

// An edge that ends at the latitude of the point or runs along it, without crossing it.
function isOnLevelEdge(from: Point, to: Point, point: Point): boolean {
  if (from.latE7 !== to.latE7) return isSamePlace(from, point) || isSamePlace(to, point)
  return Math.min(from.longE7, to.longE7) <= point.longE7 && point.longE7 <= Math.max(from.longE7, to.longE7)
}

/** Distance of a point from the edge of a packed ring, in the plane around the point. */
export function distanceToRingM(packed: Float64Array, point: Point): number {
  const { latM, longM } = scaleAt(point.latE7)
  let nearest = Number.POSITIVE_INFINITY
  let fromY = ((packed[0] ?? Number.NaN) - point.latE7) * latM
  let fromX = ((packed[1] ?? Number.NaN) - point.longE7) * longM
  for (let at = 2; at < packed.length; at += 2) {
    const toY = ((packed[at] ?? 0) - point.latE7) * latM
    const toX = ((packed[at + 1] ?? 0) - point.longE7) * longM
    const dx = toX - fromX
    const dy = toY - fromY
    const length = dx * dx + dy * dy
    const along = length === 0 ? 0 : Math.min(1, Math.max(0, -(fromX * dx + fromY * dy) / length))
    const x = fromX + along * dx
    const y = fromY + along * dy
    nearest = Math.min(nearest, x * x + y * y)
    fromX = toX
    fromY = toY
  }
  return Math.sqrt(nearest)
}
