/** Mean radius of the Earth in metres, as a sphere. Source: IUGG, rounded as in haversine implementations. */
export const EARTH_RADIUS_M = 6_371_000

const RADIANS_PER_E7 = Math.PI / 180 / 1e7
const METRES_PER_E7 = EARTH_RADIUS_M * RADIANS_PER_E7

/** A thousandth of a radian (6.4 km) in 1e-7 degree: up to here the series below are exact to 1e-13. */
const NEAR_E7 = Math.floor(1e-3 / RADIANS_PER_E7)

/** Interval of the latitudes at which the cosine is computed, 0.1 degree. */
const GRID_E7 = 1e6

/** Relative margin above any rounding error; for antipodal points asin loses half the digits. */
export const ROUNDING_MARGIN = 1 + 1e-7

/**
 * Upper bound in metres per 1e-7 degree of latitude plus longitude: meridian and parallel are never the shorter way.
 */
export const BOUND_M_PER_E7 = METRES_PER_E7 * ROUNDING_MARGIN

/**
 * Great-circle distance of two positions in metres; positions are 1e-7 degree. Correct across the antimeridian and at
 * the poles. Source: R. W. Sinnott, Virtues of the Haversine, 1984.
 */
export function haversineM(latA: number, longA: number, latB: number, longB: number): number {
  const sinHalfLat = Math.sin(((latB - latA) * RADIANS_PER_E7) / 2)
  const sinHalfLong = Math.sin(((longB - longA) * RADIANS_PER_E7) / 2)
  const haversine =
    sinHalfLat * sinHalfLat +
    Math.cos(latA * RADIANS_PER_E7) * Math.cos(latB * RADIANS_PER_E7) * sinHalfLong * sinHalfLong
  return 2 * EARTH_RADIUS_M * Math.asin(Math.min(1, Math.sqrt(haversine)))
}

/**
 * Same distance for the many short steps of a track, without trigonometry: sines and the arc sine of small angles are
 * the first terms of their series, and the cosine of the latitude is expanded around that of the nearest tenth of a
 * degree, which is cached. Earlier measurements do not affect the last digit. Differs from `haversineM` by less than
 * 1e-11 of the distance up to 89.9 degrees of latitude, and by less than a micrometre anywhere.
 */
export class EarthDistance {
  #latE7 = 0
  #sin = 0
  #cos = 1

  /** Metres between two positions of 1e-7 degree. */
  metres(latA: number, longA: number, latB: number, longB: number): number {
    const dLat = latB - latA
    const dLong = longB - longA
    if (dLat > NEAR_E7 || dLat < -NEAR_E7 || dLong > NEAR_E7 || dLong < -NEAR_E7) {
      return haversineM(latA, longA, latB, longB)
    }
    const middle = latA + dLat / 2
    let off = middle - this.#latE7
    if (off >= GRID_E7 / 2 || off < -GRID_E7 / 2) {
      this.#moveTo(Math.floor(middle / GRID_E7 + 0.5) * GRID_E7)
      off = middle - this.#latE7
    }
    const x = off * RADIANS_PER_E7
    const xx = x * x
    const cos = this.#cos * (1 - xx * (1 / 2 - xx * (1 / 24))) - this.#sin * x * (1 - xx * (1 / 6))
    const halfLat = dLat * (RADIANS_PER_E7 / 2)
    const halfLong = dLong * (RADIANS_PER_E7 / 2)
    const sinSqLat = halfLat * halfLat * (1 - halfLat * halfLat * (1 / 3))
    const sinSqLong = halfLong * halfLong * (1 - halfLong * halfLong * (1 / 3))
    // cos(middle - half) cos(middle + half) = cos² middle - sin² half
    const haversine = sinSqLat + (cos * cos - sinSqLat) * sinSqLong
    return 2 * EARTH_RADIUS_M * Math.sqrt(haversine) * (1 + haversine * (1 / 6 + haversine * (3 / 40)))
  }

  #moveTo(latE7: number): void {
    this.#latE7 = latE7
    this.#sin = Math.sin(latE7 * RADIANS_PER_E7)
    this.#cos = Math.cos(latE7 * RADIANS_PER_E7)
  }
}
