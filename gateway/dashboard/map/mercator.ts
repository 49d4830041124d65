const EARTH_RADIUS_M = 6_378_137
/** Latitude limit of the square world map. Source: EPSG:3857. */
const MAX_LAT = 85.06
const RADIANS = Math.PI / 180

/** Converts to the map's plane (EPSG:3857), whose metres are true at the equator only. */
export function toX(long: number): number {
  return EARTH_RADIUS_M * long * RADIANS
}

export function toY(lat: number): number {
  const kept = Math.max(-MAX_LAT, Math.min(MAX_LAT, lat))
  return EARTH_RADIUS_M * Math.log(Math.tan(Math.PI / 4 + (kept * RADIANS) / 2))
}

/** Degrees of longitude. */
export function toLong(x: number): number {
  return x / EARTH_RADIUS_M / RADIANS
}

/** Degrees of latitude. */
export function toLat(y: number): number {
  return (2 * Math.atan(Math.exp(y / EARTH_RADIUS_M)) - Math.PI / 2) / RADIANS
}

/** True metres for one unit of the plane at `y`. */
export function metresPerUnit(y: number): number {
  return 1 / Math.cosh(y / EARTH_RADIUS_M)
}
