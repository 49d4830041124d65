import { hullAround } from '#shared/course/hull.ts'
import type { NewFeature, NewGeofences } from '#shared/wire/geofences.ts'
import { bayOf, type Course, type Hole } from './course.ts'
import { parallelPath } from './path.ts'
import { type Point, toLatLong } from './plane.ts'

/** Margin around the bays: more than the error of a receiver. */
const BARN_ROOM_M = 18
/** Margin around the fairways: players search for balls there. */
const ROUGH_M = 80
const HOLE_ROOM_M = 35

/** Returns the zones of a course and a fleet of that size: its barn, its boundary and its holes. */
export function zonesOf(course: Course, carts: number): NewGeofences {
  const zone = (ring: readonly Point[], properties: NewFeature['properties']): NewFeature => ({
    type: 'Feature',
    properties,
    geometry: { type: 'Polygon', coordinates: [ring.map((point) => position(course, point))] },
  })
  return {
    type: 'FeatureCollection',
    features: [
      { id: 'barn', ...zone(barnOf(course, carts), { name: 'Cart barn', type: 'parking' }) },
      { id: 'course', ...zone(boundaryOf(course, carts), { name: 'Golf course', type: 'boundary' }) },
      ...course.holes.map((hole) => ({
        id: `hole-${hole.number}`,
        ...zone(holeOf(hole), { name: `Hole ${hole.number}`, type: 'hole', hole: hole.number }),
      })),
    ],
  }
}

/** Returns the edge of the course: convex, counter-clockwise. */
export function boundaryOf(course: Course, carts: number): Point[] {
  const inside = course.holes.flatMap(({ fairway }) => fairway.points)
  return hullAround([...inside, ...barnOf(course, carts), course.clubhouse], ROUGH_M)
}

function barnOf(course: Course, carts: number): Point[] {
  const bays = Array.from({ length: carts }, (_, index) => bayOf(course, index))
  return hullAround([course.barn, ...bays], BARN_ROOM_M)
}

function holeOf({ fairway }: Hole): Point[] {
  return hullAround(parallelPath(fairway, 0, fairway.lengthM, 0), HOLE_ROOM_M)
}

function position({ center }: Course, point: Point): [number, number] {
  const { lat, long } = toLatLong(center, point)
  return [long, lat]
}
