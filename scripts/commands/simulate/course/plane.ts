/** Position on the course: metres east (x) and north (y) of its centre. */
export interface Point {
  readonly xM: number
  readonly yM: number
}

export interface LatLong {
  readonly lat: number
  readonly long: number
}

const METRES_PER_DEGREE = 111_195

export function distanceM(a: Point, b: Point): number {
  return Math.sqrt((a.xM - b.xM) ** 2 + (a.yM - b.yM) ** 2)
}

/** Returns the point at `share` of the line from a to b (0 is a, 1 is b). */
export function between(a: Point, b: Point, share: number): Point {
  return { xM: a.xM + (b.xM - a.xM) * share, yM: a.yM + (b.yM - a.yM) * share }
}

/** Converts a point to degrees, to 1e-7; flat around the centre, accurate to centimetres over a golf course. */
export function toLatLong(center: LatLong, point: Point): LatLong {
  const metresPerDegreeLong = METRES_PER_DEGREE * Math.cos((center.lat * Math.PI) / 180)
  return {
    lat: Math.round((center.lat + point.yM / METRES_PER_DEGREE) * 1e7) / 1e7,
    long: Math.round((center.long + point.xM / metresPerDegreeLong) * 1e7) / 1e7,
  }
}
