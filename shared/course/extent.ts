import type { CourseFeature, Position } from './course.ts'
import { CourseFault } from './course-fault.ts'
import { metresBetween, Plane } from './plane.ts'
import { holePositionsOf, positionsOf } from './shapes.ts'
import { kindOf } from './tags.ts'

/** About twice the length of the longest holes in the world. */
const HOLE_MAX_M = 2_000
const COURSE_MAX_M = 20_000

/** Feature with its path in the file, such as `features[3]`. */
export interface PlacedFeature {
  feature: CourseFeature
  path: string
}

/**
 * Throws `CourseFault` if a hole is longer than 2 km or the course wider than 20 km, which a single wrong point can
 * cause. The fault names the feature; for a course that is too wide, the one farthest from most of the others.
 */
export function requireCourseExtent(placed: readonly PlacedFeature[]): void {
  const middle = middleOf(placed.map(({ feature }) => positionsOf(feature)[0] ?? [0, 0]))
  const plane = new Plane(middle)
  const placeOf = ([long, lat]: Position) => plane.place([middle[0] + eastOf(long, middle[0]), lat])
  const box = { west: Infinity, east: -Infinity, south: Infinity, north: -Infinity }
  let [farthest, mostM] = ['', -1]
  for (const { feature, path } of placed) {
    if (kindOf(feature.properties) === 'hole') {
      const line = holePositionsOf(feature.geometry).map(placeOf)
      const lengthM = line.reduce((sum, place, i) => sum + metresBetween(line[i - 1] ?? place, place), 0)
      if (lengthM > HOLE_MAX_M)
        throw new CourseFault(
          'hole_too_long',
          `${nameOf(feature, path)} is a hole of ${kmOf(lengthM)} km: a hole is at most 2 km long, so one of its ` +
            'points is probably wrong',
        )
    }
    for (const position of positionsOf(feature)) {
      const place = placeOf(position)
      box.west = Math.min(box.west, place.xM)
      box.east = Math.max(box.east, place.xM)
      box.south = Math.min(box.south, place.yM)
      box.north = Math.max(box.north, place.yM)
      const awayM = Math.hypot(place.xM, place.yM)
      if (awayM > mostM) [farthest, mostM] = [nameOf(feature, path), awayM]
    }
  }
  const widthM = Math.max(box.east - box.west, box.north - box.south)
  if (widthM > COURSE_MAX_M)
    throw new CourseFault(
      'course_too_wide',
      `the course is ${kmOf(widthM)} km wide, but at most 20 km are allowed: ${farthest} is ${kmOf(mostM)} km away ` +
        'from the middle of the others',
    )
}

function nameOf({ id, properties }: CourseFeature, path: string): string {
  const names = [id, properties.name ?? properties.ref].filter((name) => name !== undefined)
  return names.length === 0 ? path : `${path} (${names.join(', ')})`
}

/** Median of longitude and latitude, which a few outliers do not move. */
function middleOf(positions: readonly Position[]): Position {
  const anyLong = positions[0]?.[0] ?? 0
  const [longs, lats] = [positions.map(([long]) => eastOf(long, anyLong)), positions.map(([, lat]) => lat)]
  const median = (numbers: number[]) => numbers.sort((a, b) => a - b)[numbers.length >> 1] ?? 0
  return [anyLong + median(longs), median(lats)]
}

/** Degrees east of a longitude, by the shorter direction. */
function eastOf(long: number, from: number): number {
  return ((((long - from + 180) % 360) + 360) % 360) - 180
}

function kmOf(metres: number): string {
  return (metres / 1000).toFixed(metres < 100_000 ? 1 : 0)
}
