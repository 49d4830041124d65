import Feature from 'ol/Feature.js'
import Polygon, { circular } from 'ol/geom/Polygon.js'
import VectorImageLayer from 'ol/layer/VectorImage.js'
import VectorSource from 'ol/source/Vector.js'
import type { ZonesJson } from '#shared/wire/zones.ts'
import type { PlaceName } from './cart-layer.ts'
import { toX, toY } from './mercator.ts'
import { zoneStyles } from './zone-styles.ts'

type ZoneJson = ZonesJson['features'][number]

const CIRCLE_CORNERS = 72

/**
 * Zones below the carts. They are drawn into an image once the map rests, and only the image is moved with it, so that
 * a hundred zones of two hundred corners then cost no more than one.
 */
export class ZoneLayer {
  readonly #source = new VectorSource<Feature>()
  readonly layer = new VectorImageLayer({
    source: this.#source,
    imageRatio: 1.5,
  })

  /** Over a course map, zones that would hide it are only outlined. */
  show(zones: ZonesJson | null, isDark: boolean, isOverCourse = false): void {
    const features = zones?.features ?? []
    this.layer.setStyle(zoneStyles(isDark, isOverCourse))
    this.#source.clear(true)
    this.#source.addFeatures(features.toSorted((a, b) => areaRank(a) - areaRank(b)).map(toFeature))
  }
}

/** Converts a zone to a shape on the map's plane. */
function toGeometry({ geometry, properties }: ZoneJson): Polygon {
  if (geometry.type === 'Point') return circleAround(geometry.coordinates, properties.radius_m ?? 0)
  const ring = geometry.coordinates[0] ?? []
  return new Polygon([ring.map(([long, lat]) => [toX(long), toY(lat)])])
}

/** Returns the circle of true radius `radiusM` around a longitude and latitude. */
export function circleAround(center: readonly [number, number], radiusM: number): Polygon {
  return circular([...center], radiusM, CIRCLE_CORNERS).transform('EPSG:4326', 'EPSG:3857')
}

function toFeature(zone: ZoneJson): Feature {
  const { type, enabled, switched } = zone.properties
  return new Feature({ geometry: toGeometry(zone), type, enabled, switched: switched !== null })
}

/** Places the boundary below all other zones. */
function areaRank({ properties }: ZoneJson): number {
  if (properties.type === 'boundary') return 0
  return properties.type === 'hole' ? 1 : 2
}

/** Returns the numbers of the holes that have a zone. */
export function namesOfZones(zones: ZonesJson | null): PlaceName[] {
  return (zones?.features ?? []).flatMap((zone) => {
    const { type, hole } = zone.properties
    return type === 'hole' && hole !== undefined ? nameAt(middleOf(toGeometry(zone)), 'hole', `${hole}`) : []
  })
}

export function middleOf(shape: Polygon): number[] {
  return shape.getInteriorPoint().getCoordinates()
}

export function nameAt([x = 0, y = 0]: number[], kind: PlaceName['kind'], text: string | null): PlaceName[] {
  return [{ kind, text, x, y }]
}
