import { isOneLine } from '#shared/plain-text.ts'
import type { Course, CourseFeature } from './course.ts'
import { CourseFault } from './course-fault.ts'
import { type PlacedFeature, requireCourseExtent } from './extent.ts'
import { GeometryReader } from './read-geometry.ts'
import { kindOf, type Tags, USED_TAGS } from './tags.ts'

/** Limit on features: a larger file is not a golf course, and slow to draw. */
const FEATURES_MAX = 20_000
const POINTS_MAX = 200_000
const TEXT_MAX = 200
/** Ids of OpenStreetMap. Map data without them and without an attribution has no known source. */
const OSM_ID = /^(node|way|relation)\/\d+$/
const OSM_WORDS = /openstreetmap|overpass/i
const OSM = '© OpenStreetMap contributors'
/** Names of the only coordinate system of GeoJSON. Source: RFC 7946, 4, and the 2008 format before it. */
const DEGREES = /CRS84|EPSG:+(?:[\d.]+:)?4326|^$/i

type Json = Readonly<Record<string, unknown>>

/**
 * Reads a GeoJSON FeatureCollection with OpenStreetMap tags, as exported by Overpass turbo. Keeps what a course map
 * draws: known features, the tags in use, and coordinates to 1e-7 degree. Throws `CourseFault`.
 */
export function readCourse(value: unknown): Course {
  if (!isObject(value) || value.type !== 'FeatureCollection' || !Array.isArray(value.features))
    throw new CourseFault('not_geojson', 'the file is not a GeoJSON FeatureCollection')
  requireDegrees(value)
  const reader = new GeometryReader(POINTS_MAX)
  const placed = value.features.flatMap((feature: unknown, at) => readFeature(feature, `features[${at}]`, reader))
  const features = placed.map(({ feature }) => feature)
  if (features.length === 0)
    throw new CourseFault(
      'nothing_known',
      'the file has no known features: they need OpenStreetMap tags such as golf=green or natural=water',
    )
  if (features.length > FEATURES_MAX)
    throw new CourseFault('too_many_features', `it has ${features.length} features, of at most ${FEATURES_MAX}`)
  requireCourseExtent(placed)
  return { features, attribution: attributionOf(value, features) }
}

function readFeature(feature: unknown, path: string, reader: GeometryReader): PlacedFeature[] {
  if (!isObject(feature)) throw new CourseFault('not_geojson', `${path} is not a feature`)
  const given = isObject(feature.properties) ? feature.properties : {}
  // the form that osmtogeojson writes unless flat properties are requested
  const tags = tagsIn(isObject(given.tags) ? given.tags : given)
  if (!Object.values(tags).every((text = '') => isOneLine(text)))
    throw new CourseFault('not_one_line', `${path} has a line break or another control character in a tag`)
  const kind = kindOf(tags)
  // RFC 7946, 3.2: the geometry of an unlocated feature is null
  if (kind === null || feature.geometry == null) return []
  const geometry = reader.read(feature.geometry, kind, `${path}.geometry`)
  if (geometry === null) return []
  const id = feature.id ?? given['@id'] ?? given.id
  const isNamed = (typeof id === 'string' || typeof id === 'number') && String(id).length <= 64 && isOneLine(String(id))
  const named = isNamed ? { id: String(id) } : {}
  return [{ feature: { type: 'Feature', ...named, geometry, properties: tags }, path }]
}

/** Copies tags by known names only, so that names from the file cannot reach the prototype. */
function tagsIn(given: Json): Tags {
  const tags: Tags = {}
  for (const name of USED_TAGS) {
    const value = given[name]
    if (typeof value === 'string' && value.trim() !== '') tags[name] = value.slice(0, TEXT_MAX).trim()
    else if (typeof value === 'number') tags[name] = String(value)
  }
  return tags
}

function requireDegrees({ crs }: Json): void {
  const properties = isObject(crs) && isObject(crs.properties) ? crs.properties : {}
  const name = typeof properties.name === 'string' ? properties.name : ''
  if (!DEGREES.test(name))
    throw new CourseFault(
      'not_degrees',
      `its coordinates are ${name.slice(0, 60)}: export it in WGS 84 (longitude and latitude in degrees)`,
    )
}

function attributionOf(collection: Json, features: readonly CourseFeature[]): string | null {
  const { attribution, copyright, generator } = collection
  const named = typeof attribution === 'string' ? attribution.trim() : ''
  if (!isOneLine(named))
    throw new CourseFault('not_one_line', 'its attribution has a line break or another control character')
  if (named !== '') return OSM_WORDS.test(named) ? OSM : named.slice(0, TEXT_MAX)
  if (OSM_WORDS.test(`${copyright} ${generator}`)) return OSM
  return features.some(({ id }) => id !== undefined && OSM_ID.test(id)) ? OSM : null
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
