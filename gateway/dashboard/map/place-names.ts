import LineString from 'ol/geom/LineString.js'
import Polygon from 'ol/geom/Polygon.js'
import { type CourseFeature, holeNumberOf } from '#shared/course/course.ts'
import { kindOf } from '#shared/course/tags.ts'
import type { ZonesJson } from '#shared/wire/zones.ts'
import { toGeometry as toCourseShape } from './course-layer.ts'
import { toGeometry as toZoneShape } from './zone-layer.ts'

/** Text on the map: the number of a hole, or the name of a building or a range. */
export interface PlaceName {
  kind: 'hole' | 'clubhouse' | 'range' | 'building'
  /** Null for a place without a name of its own. */
  text: string | null
  /** Position on the map's plane. */
  x: number
  y: number
}

const NAMED_GOLF: Readonly<Record<string, PlaceName['kind']>> = { clubhouse: 'clubhouse', driving_range: 'range' }

/** Returns the names of a course map: its holes, club house, ranges and named buildings. */
export function namesOfCourse(features: readonly CourseFeature[]): PlaceName[] {
  return features.flatMap(({ geometry, properties }) => {
    const { golf = '', name } = properties
    const shape = toCourseShape(geometry)
    if (kindOf(properties) === 'hole') {
      const number = holeNumberOf(properties)
      return number === null || !(shape instanceof LineString)
        ? []
        : nameAt(shape.getCoordinateAt(0.5), 'hole', `${number}`)
    }
    const kind = NAMED_GOLF[golf] ?? (kindOf(properties) === 'building' && name !== undefined ? 'building' : null)
    return kind === null || !(shape instanceof Polygon) ? [] : nameAt(middleOf(shape), kind, name ?? null)
  })
}

/** Returns the numbers of the holes that have a zone. */
export function namesOfZones(zones: ZonesJson | null): PlaceName[] {
  return (zones?.features ?? []).flatMap((zone) => {
    const { type, hole } = zone.properties
    return type === 'hole' && hole !== undefined ? nameAt(middleOf(toZoneShape(zone)), 'hole', `${hole}`) : []
  })
}

function middleOf(shape: Polygon): number[] {
  return shape.getInteriorPoint().getCoordinates()
}

function nameAt([x = 0, y = 0]: number[], kind: PlaceName['kind'], text: string | null): PlaceName[] {
  return [{ kind, text, x, y }]
}
