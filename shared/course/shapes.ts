import type { CourseFeature, Position } from './course.ts'
import { holeNumberOf } from './course.ts'
import type { Place, Plane } from './plane.ts'
import { type CourseKind, kindOf } from './tags.ts'

const CORNERS_MAX = 300

/** Area without its cut-outs. */
export interface Area {
  ring: Place[]
  name: string | null
}

/** Line of a hole, from its tee to its green. */
export interface HoleLine {
  line: Place[]
  number: number | null
}

/** Areas of one kind on the local plane, one per outer ring. */
export function areasOf(features: readonly CourseFeature[], kind: CourseKind, plane: Plane): Area[] {
  return features
    .filter(({ properties }) => kindOf(properties) === kind)
    .flatMap(({ geometry, properties }) =>
      outerRings(geometry).map((ring) => ({
        // rings are closed in GeoJSON, but not here
        ring: fewer(ring.slice(0, -1)).map((position) => plane.place(position)),
        name: properties.name ?? null,
      })),
    )
}

export function holeLinesOf(features: readonly CourseFeature[], plane: Plane): HoleLine[] {
  return features.flatMap(({ geometry, properties }) => {
    if (kindOf(properties) !== 'hole') return []
    const line = fewer(holePositionsOf(geometry)).map((position) => plane.place(position))
    return line.length < 2 ? [] : [{ line, number: holeNumberOf(properties) }]
  })
}

/** Samples the corners evenly if there are more than `most`, for areas that are drawn more finely than any zone. */
export function fewer<Corner>(corners: readonly Corner[], most = CORNERS_MAX): Corner[] {
  const step = Math.ceil(corners.length / most)
  return corners.filter((_, at) => at % step === 0 || at === corners.length - 1)
}

export function positionsOf({ geometry }: Pick<CourseFeature, 'geometry'>): Position[] {
  switch (geometry.type) {
    case 'LineString':
      return geometry.coordinates
    case 'MultiPolygon':
      return geometry.coordinates.flat(2)
    default:
      return geometry.coordinates.flat()
  }
}

function outerRings(geometry: CourseFeature['geometry']): Position[][] {
  if (geometry.type === 'Polygon') return geometry.coordinates.slice(0, 1)
  return geometry.type === 'MultiPolygon' ? geometry.coordinates.flatMap((rings) => rings.slice(0, 1)) : []
}

/** Returns the line of a hole, with its segments joined in order. */
export function holePositionsOf(geometry: CourseFeature['geometry']): Position[] {
  if (geometry.type === 'MultiLineString') return geometry.coordinates.flat()
  return geometry.type === 'LineString' ? geometry.coordinates : []
}
