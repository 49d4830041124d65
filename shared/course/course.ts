import { kindOf, type Tags } from './tags.ts'

/** Longitude, latitude in degrees. */
export type Position = [long: number, lat: number]

/** What of GeoJSON a course is drawn with. */
export type CourseGeometry =
  | { type: 'LineString'; coordinates: Position[] }
  | { type: 'MultiLineString'; coordinates: Position[][] }
  | { type: 'Polygon'; coordinates: Position[][] }
  | { type: 'MultiPolygon'; coordinates: Position[][][] }

/** Something on the course, with what OpenStreetMap says of it. */
export interface CourseFeature {
  type: 'Feature'
  /** As it came, such as `way/123`. */
  id?: string | undefined
  geometry: CourseGeometry
  properties: Tags
}

/** A golf course as it is drawn. */
export interface Course {
  features: CourseFeature[]
  /** Whom to credit; null when nobody is known. */
  attribution: string | null
}

/** How many there are of what people ask for. */
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

/** The number of a hole, which is its `ref`, else in its name; null for a line without one. */
export function holeNumberOf({ ref, name }: Tags): number | null {
  const digits = /^\s*0*([1-9]\d?)\b/.exec(ref ?? '') ?? /\b([1-9]\d?)\b/.exec(name ?? '')
  return digits === null ? null : Number(digits[1])
}
