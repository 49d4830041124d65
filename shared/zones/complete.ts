import { SITE_ZONES_MAX } from './zone.ts'

/** Part of a request that was filled in or unwrapped. */
export interface Completion {
  code: 'filled_in' | 'unwrapped'
  /** Id of the zone, if it was sent with one. */
  zoneId: string | null
  detail: string
}

/**
 * Converts zones as written by map editors to the FeatureCollection that they represent. Accepts a bare Feature, an
 * array of Features or `{"geofences": …}`; features without a type (`alert`), without a name (`Zone N`) or with
 * `properties` null; a MultiPolygon of one polygon. Any other fault stays, to be rejected by the schema.
 */
export function completeZones(given: unknown): { zones: unknown; completions: Completion[] } {
  const completions: Completion[] = []
  const collection = unwrapped(given, completions)
  if (!isObject(collection) || !Array.isArray(collection.features)) return { zones: collection, completions }
  // rejected because of their number
  if (collection.features.length > SITE_ZONES_MAX) return { zones: collection, completions }
  const features = collection.features.map((feature: unknown, i) => completed(feature, i, completions))
  return { zones: { ...collection, features }, completions }
}

function unwrapped(given: unknown, completions: Completion[]): unknown {
  const note = (what: string) =>
    completions.push({ code: 'unwrapped', zoneId: null, detail: `${what} was taken as a FeatureCollection` })
  // an empty array would delete all zones, and does not identify itself as zones
  if (Array.isArray(given) && given.length > 0) {
    note('an array of features')
    return { type: 'FeatureCollection', features: given }
  }
  if (!isObject(given)) return given
  if (given.type === 'Feature') {
    note('a single feature')
    return { type: 'FeatureCollection', features: [given] }
  }
  if (given.type === undefined && given.features === undefined && 'geofences' in given) {
    const inner = given.geofences
    note('geofences')
    if (Array.isArray(inner)) return { type: 'FeatureCollection', features: inner }
    if (isObject(inner) && inner.type === 'Feature') return { type: 'FeatureCollection', features: [inner] }
    return inner
  }
  return given
}

function completed(feature: unknown, i: number, completions: Completion[]): unknown {
  if (!isObject(feature)) return feature
  const { id, geometry, properties } = feature
  if (properties != null && !isObject(properties)) return feature
  const zoneId = typeof id === 'string' || typeof id === 'number' ? String(id) : null
  const note = (code: Completion['code'], detail: string) =>
    completions.push({ code, zoneId, detail: `features[${i}]: ${detail}` })
  const filled: Record<string, unknown> = { ...properties }
  if (filled.type == null) {
    filled.type = 'alert'
    note('filled_in', 'it has no type and became an alert zone')
  }
  if (filled.name == null) {
    filled.name = `Zone ${i + 1}`
    note('filled_in', `it has no name and is now called Zone ${i + 1}`)
  }
  const isOnePolygon =
    isObject(geometry) &&
    geometry.type === 'MultiPolygon' &&
    Array.isArray(geometry.coordinates) &&
    geometry.coordinates.length === 1
  if (!isOnePolygon) return { ...feature, properties: filled }
  const { coordinates }: { coordinates?: unknown } = geometry
  note('unwrapped', 'its MultiPolygon of one polygon was taken as that polygon')
  const polygon = {
    ...geometry,
    type: 'Polygon',
    coordinates: Array.isArray(coordinates) ? coordinates[0] : [],
  }
  return { ...feature, properties: filled, geometry: polygon }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
