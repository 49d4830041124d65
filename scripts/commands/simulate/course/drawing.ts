import type { CourseFeature, Course as Drawing, Position } from '#shared/course/course.ts'
import { stripAround } from '#shared/course/strip.ts'
import type { Tags } from '#shared/course/tags.ts'
import { createRandom, type Random } from '#shared/random.ts'
import type { Course, Hole } from './course.ts'
import { parallelPath, placeOn } from './path.ts'
import { type Point, toLatLong } from './plane.ts'
import { boundaryOf } from './zones.ts'

/** Half the width of a fairway, and distance of the cart path from its centre line. */
const FAIRWAY_M = 17
const PATH_OFFSET_M = 26
const GREEN_M = 11
/** Distance of the green from the end of the hole's line, where carts stop. */
const GREEN_BEHIND_M = 16
const BLOB_CORNERS = 14

/** Returns the course as map data, with tags of OpenStreetMap. */
export function drawingOf(course: Course, carts: number): Drawing {
  const place = (points: readonly Point[]): Position[] =>
    points.map((point) => {
      const { lat, long } = toLatLong(course.center, point)
      return [long, lat]
    })
  const area = (properties: Tags, ring: readonly Point[]): CourseFeature => ({
    type: 'Feature',
    properties,
    geometry: { type: 'Polygon', coordinates: [place([...ring, ...ring.slice(0, 1)])] },
  })
  const line = (properties: Tags, points: readonly Point[]): CourseFeature => ({
    type: 'Feature',
    properties,
    geometry: { type: 'LineString', coordinates: place(points) },
  })
  const features = [
    area({ leisure: 'golf_course' }, boundaryOf(course, carts)),
    area({ golf: 'driving_range' }, box({ xM: 0, yM: 170 }, 70, 190)),
    area({ building: 'yes', golf: 'clubhouse', name: 'Clubhouse' }, box(course.clubhouse, 30, 16)),
    area({ building: 'yes', name: 'Cart barn' }, box({ xM: course.barn.xM + 19, yM: course.barn.yM + 4 }, 46, 14)),
    ...course.holes.flatMap((hole) => {
      const random = createRandom(hole.number, 'drawing')
      const green = greenOf(hole)
      return [
        ...adjacentWoods(hole, random).map((ring) => area({ natural: 'wood' }, ring)),
        ...adjacentWater(hole, random).map((ring) => area({ natural: 'water', golf: 'water_hazard' }, ring)),
        ...fairwayOf(hole).map((ring) => area({ golf: 'fairway' }, ring)),
        area({ golf: 'tee' }, box(hole.tee, 9, 7)),
        area({ golf: 'green' }, blob(green, GREEN_M, random)),
        ...bunkersAround(green, random).map((ring) => area({ golf: 'bunker' }, ring)),
        line({ golf: 'cartpath' }, parallelPath(hole.fairway, 0, hole.fairway.lengthM, PATH_OFFSET_M)),
        line({ golf: 'hole', ref: String(hole.number), par: String(hole.par) }, [
          ...parallelPath(hole.fairway, 0, hole.fairway.lengthM, 0),
          green,
        ]),
      ]
    }),
  ]
  return { features, attribution: null }
}

/** Returns the centre of the green, in the direction in which the hole ends. */
function greenOf({ fairway, green }: Hole): Point {
  const { left } = placeOn(fairway, fairway.lengthM)
  return { xM: green.xM + left.yM * GREEN_BEHIND_M, yM: green.yM - left.xM * GREEN_BEHIND_M }
}

/** Returns the fairway; none for a short hole, which is played over rough. */
function fairwayOf({ par, fairway }: Hole): Point[][] {
  if (par === 3) return []
  return [stripAround(parallelPath(fairway, 0.3 * fairway.lengthM, fairway.lengthM - 25, 0), FAIRWAY_M)]
}

function adjacentWoods({ fairway }: Hole, random: Random): Point[][] {
  return [-1, 1].flatMap((side) =>
    random.chance(0.6)
      ? [
          stripAround(
            parallelPath(
              fairway,
              0.2 * fairway.lengthM,
              random.between(0.5, 0.9) * fairway.lengthM,
              side * random.between(50, 62),
            ),
            random.between(6, 12),
          ),
        ]
      : [],
  )
}

function adjacentWater({ fairway }: Hole, random: Random): Point[][] {
  if (!random.chance(0.3)) return []
  const [center] = parallelPath(fairway, random.between(0.4, 0.7) * fairway.lengthM, fairway.lengthM, -38)
  return center === undefined ? [] : [blob(center, random.between(10, 15), random)]
}

function bunkersAround(green: Point, random: Random): Point[][] {
  const count = random.integer(2, 4)
  const first = random.between(0, 2 * Math.PI)
  return Array.from({ length: count }, (_, i) => {
    const angle = first + (i * 2 * Math.PI) / count
    const awayM = GREEN_M + random.between(7, 10)
    const center = { xM: green.xM + awayM * Math.cos(angle), yM: green.yM + awayM * Math.sin(angle) }
    return blob(center, random.between(3, 5), random)
  })
}

/** Returns the outline of an irregular round area. */
function blob({ xM, yM }: Point, radiusM: number, random: Random): Point[] {
  const [phase, depth] = [random.between(0, 2 * Math.PI), random.between(0.08, 0.2)]
  return Array.from({ length: BLOB_CORNERS }, (_, i) => {
    const angle = (i / BLOB_CORNERS) * 2 * Math.PI
    const reach = radiusM * (1 + depth * Math.sin(2 * angle + phase))
    return { xM: xM + reach * Math.cos(angle), yM: yM + reach * Math.sin(angle) }
  })
}

function box({ xM, yM }: Point, widthM: number, heightM: number): Point[] {
  const [x, y] = [widthM / 2, heightM / 2]
  return [
    { xM: xM - x, yM: yM - y },
    { xM: xM + x, yM: yM - y },
    { xM: xM + x, yM: yM + y },
    { xM: xM - x, yM: yM + y },
  ]
}
