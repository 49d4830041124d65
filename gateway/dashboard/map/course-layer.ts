import Feature from 'ol/Feature.js'
import type Geometry from 'ol/geom/Geometry.js'
import LineString from 'ol/geom/LineString.js'
import MultiLineString from 'ol/geom/MultiLineString.js'
import MultiPolygon from 'ol/geom/MultiPolygon.js'
import Polygon from 'ol/geom/Polygon.js'
import VectorImageLayer from 'ol/layer/VectorImage.js'
import VectorSource from 'ol/source/Vector.js'
import { type CourseFeature, holeNumberOf, type Position } from '#shared/course/course.ts'
import { kindOf } from '#shared/course/tags.ts'
import type { PlaceName } from './cart-layer.ts'
import { courseStyles, DRAWN_KINDS } from './course-styles.ts'
import { toX, toY } from './mercator.ts'
import { middleOf, nameAt } from './zone-layer.ts'

/** Course map below zones and carts: an image while the map is moved. */
export class CourseLayer {
  readonly #source = new VectorSource<Feature>()
  readonly layer = new VectorImageLayer({
    source: this.#source,
    imageRatio: 1.5,
    zIndex: -1,
  })

  show(features: readonly CourseFeature[]): void {
    const drawn = features.flatMap((feature) => {
      const kind = kindOf(feature.properties)
      return kind === null ? [] : [{ feature, kind, rank: DRAWN_KINDS.indexOf(kind) }]
    })
    drawn.sort((a, b) => a.rank - b.rank)
    this.#source.clear(true)
    const shapes = drawn.map(({ feature, kind }) => new Feature({ geometry: toGeometry(feature.geometry), type: kind }))
    this.#source.addFeatures(shapes)
  }

  set isDark(isDark: boolean) {
    this.layer.setStyle(courseStyles(isDark))
  }
}

function toGeometry(geometry: CourseFeature['geometry']): Geometry {
  switch (geometry.type) {
    case 'LineString':
      return new LineString(geometry.coordinates.map(toPlane))
    case 'MultiLineString':
      return new MultiLineString(geometry.coordinates.map((line) => line.map(toPlane)))
    case 'Polygon':
      return new Polygon(geometry.coordinates.map((ring) => ring.map(toPlane)))
    case 'MultiPolygon':
      return new MultiPolygon(geometry.coordinates.map((rings) => rings.map((ring) => ring.map(toPlane))))
  }
}

function toPlane([long, lat]: Position): number[] {
  return [toX(long), toY(lat)]
}

const NAMED_GOLF: Readonly<Record<string, PlaceName['kind']>> = { clubhouse: 'clubhouse', driving_range: 'range' }

/** Returns the names of a course map: its holes, club house, ranges and named buildings. */
export function namesOfCourse(features: readonly CourseFeature[]): PlaceName[] {
  return features.flatMap(({ geometry, properties }) => {
    const { golf = '', name } = properties
    const shape = toGeometry(geometry)
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
