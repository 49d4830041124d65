import type { CourseFeature, Position } from './course.ts'
import { holeNumberOf } from './course.ts'
import type { Place, Plane } from './plane.ts'
import { type CourseKind, kindOf } from './tags.ts'

const CORNERS_MAX = 1000

/** An area without what is cut out of it. */
export interface Area {
  ring: Place[]
  name: string | null
}

/** The line of a hole, from its tee to its green. */
export interface HoleLine {
  line: Place[]
  number: number | null
}

/** Areas of a kind on the flat ground; of several outer rings each. */
export function areasOf(features: readonly CourseFeature[], kind: CourseKind, plane: Plane): Area[] {
  return features
    .filter(({ properties }) => kindOf(properties) === kind)
    .flatMap(({ geometry, properties }) =>
      outerRings(geometry).map((ring) => ({
        // closed in GeoJSON, not here
        ring: fewer(ring.slice(0, -1)).map((position) => plane.place(position)),
        name: properties.name ?? null,
      })),
    )
}

export function holeLinesOf(features: readonly CourseFeature[], plane: Plane): HoleLine[] {
  return features.flatMap(({ geometry, properties }) => {
    if (kindOf(properties) !== 'hole') return []
    const lines = geometry.type === 'MultiLineString' ? geometry.coordinates : [linePositions(geometry)]
    const line = fewer(lines.flat()).map((position) => plane.place(position))
    return line.length < 2 ? [] : [{ line, number: holeNumberOf(properties) }]
  })
}

/** Every so many corners of what was drawn more finely than any zone is. */
function fewer(positions: readonly Position[]): Position[] {
  const step = Math.ceil(positions.length / CORNERS_MAX)
  return positions.filter((_, at) => at % step === 0 || at === positions.length - 1)
}

/** All places of a feature. */
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

function linePositions(geometry: CourseFeature['geometry']): Position[] {
  return geometry.type === 'LineString' ? geometry.coordinates : []
}
