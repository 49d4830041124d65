import { kindOf, type Tags } from './tags.ts'

/** Longitude and latitude in degrees. */
export type Position = [long: number, lat: number]

export type CourseGeometry =
  | { type: 'LineString'; coordinates: Position[] }
  | { type: 'MultiLineString'; coordinates: Position[][] }
  | { type: 'Polygon'; coordinates: Position[][] }
  | { type: 'MultiPolygon'; coordinates: Position[][][] }

/** Feature of the course with its OpenStreetMap tags. */
export interface CourseFeature {
  type: 'Feature'
  /** Id as given in the file, such as `way/123`. */
  id?: string | undefined
  geometry: CourseGeometry
  properties: Tags
}

/** Golf course as drawn on the map. */
export interface Course {
  features: CourseFeature[]
  /** Attribution of the map data; null if unknown. */
  attribution: string | null
}

/** Number of features of the kinds that users ask for. */
export interface CourseCounts {
  holes: number
  greens: number
  fairways: number
  tees: number
  bunkers: number
  roughs: number
  practice_areas: number
  water: number
  woods: number
  buildings: number
  paths: number
  outlines: number
}

const COUNTED = {
  hole: 'holes',
  green: 'greens',
  fairway: 'fairways',
  tee: 'tees',
  bunker: 'bunkers',
  rough: 'roughs',
  practice: 'practice_areas',
  water: 'water',
  wood: 'woods',
  building: 'buildings',
  path: 'paths',
  outline: 'outlines',
} as const

export function countsOf(features: readonly CourseFeature[]): CourseCounts {
  const counts: CourseCounts = {
    holes: 0,
    greens: 0,
    fairways: 0,
    tees: 0,
    bunkers: 0,
    roughs: 0,
    practice_areas: 0,
    water: 0,
    woods: 0,
    buildings: 0,
    paths: 0,
    outlines: 0,
  }
  for (const { properties } of features) {
    const kind = kindOf(properties)
    if (kind !== null) counts[COUNTED[kind]] += 1
  }
  return counts
}

/** Returns the number of a hole, from its `ref`, else from its name; null if neither contains one. */
export function holeNumberOf({ ref, name }: Tags): number | null {
  const digits = /^\s*0*([1-9]\d?)\b/.exec(ref ?? '') ?? /\b([1-9]\d?)\b/.exec(name ?? '')
  return digits === null ? null : Number(digits[1])
}
