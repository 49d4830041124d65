import type { Circle } from './barn.ts'
import { toLat, toLong } from './mercator.ts'
import type { ZoneJson } from './zone-draft.ts'

const DEGREE_DIGITS = 7

/** Converts a circle on the map's plane to the geometry of a zone. */
export function withCircle({ x, y, radiusM }: Circle): { geometry: ZoneJson['geometry']; radiusM: number } {
  const coordinates: [number, number] = [
    Number(toLong(x).toFixed(DEGREE_DIGITS)),
    Number(toLat(y).toFixed(DEGREE_DIGITS)),
  ]
  return { geometry: { type: 'Point', coordinates }, radiusM: Math.round(radiusM * 10) / 10 }
}
