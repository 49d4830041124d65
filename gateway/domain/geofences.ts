import { type FieldError, fieldPath, InvalidRequestError } from '#shared/errors.ts'
import { toE7 } from '#shared/geo.ts'
import { type NewFeature, type NewGeofences, ZONE_POINTS_MAX } from '#shared/wire/geofences.ts'
import type { NewZones } from '#shared/wire/zones.ts'
import { COMPACT_BYTES_MAX, compactBytes } from '#shared/zones/compact.ts'
import { type Point, scaleAt } from '#shared/zones/geometry.ts'
import { cornersOf, faultOf } from '#shared/zones/ring.ts'
import type { SiteZone, Zone, ZoneShape } from '#shared/zones/zone.ts'

const NO_IDS: ReadonlySet<string> = new Set()

/**
 * Converts the zones of a request, one per step; throws an `InvalidRequestError` that names everything that is wrong,
 * one position for each zone. A set with an error is rejected as a whole. Generated ids avoid those in `taken`.
 */
export function* readZones({ features }: NewGeofences, taken = NO_IDS): Generator<void, Zone[]> {
  const zones = yield* readFeatures(features, taken, (_, zone) => zone)
  const bytes = compactBytes(zones)
  if (bytes > COMPACT_BYTES_MAX) {
    const detail = `these zones take ${bytes} bytes on teeboxes; the limit is ${COMPACT_BYTES_MAX}; use fewer points`
    refuseIfAny([fault(['features'], 'too_large', detail)])
  }
  return zones
}

/** Converts the zones of the site, which are simplified if they have too many points for devices. */
export function readSiteZones({ features }: NewZones, taken = NO_IDS): Generator<void, SiteZone[]> {
  return readFeatures(features, taken, ({ properties: { groups } }, zone) => ({
    ...zone,
    groups: groups == null ? null : [...new Set(groups)].sort((a, b) => a - b),
  }))
}

function* readFeatures<Feature extends NewFeature, Read>(
  features: readonly Feature[],
  taken: ReadonlySet<string>,
  read: (feature: Feature, zone: Zone) => Read,
): Generator<void, Read[]> {
  const errors: FieldError[] = []
  const ids = zoneIds(features, taken, errors)
  const zones: Read[] = []
  for (const [i, feature] of features.entries()) {
    yield
    const shape = readShape(feature, ['features', i], errors)
    if (shape !== null) zones.push(read(feature, { id: ids[i] ?? '', ...readProperties(feature), shape }))
  }
  refuseIfAny(errors)
  return zones
}

/** Returns the ids as text; missing ones become g1, g2 … in order, skipping used ones. */
function zoneIds(features: readonly NewFeature[], taken: ReadonlySet<string>, errors: FieldError[]): string[] {
  const firstWith = new Map<string, number>()
  for (const [i, { id }] of features.entries()) {
    if (id === undefined || id === null) continue
    const first = firstWith.get(String(id))
    if (first === undefined) firstWith.set(String(id), i)
    else errors.push(fault(['features', i, 'id'], 'duplicate_id', `is also the id of features[${first}]`))
  }
  let count = 0
  return features.map(({ id }) => {
    if (id !== undefined && id !== null) return String(id)
    do count++
    while (firstWith.has(`g${count}`) || taken.has(`g${count}`))
    return `g${count}`
  })
}

function readProperties({ properties }: NewFeature): Omit<Zone, 'id' | 'shape'> {
  return {
    name: properties.name,
    type: properties.type,
    isEnabled: properties.enabled ?? true,
    isVisible: properties.visible ?? false,
    message: properties.message ?? null,
    maxSpeedKmh: properties.max_speed_kmh ?? null,
    hole: properties.hole ?? null,
    ...(properties.lock_here === true ? { locksHere: true } : {}),
  }
}

function readShape(feature: NewFeature, path: PropertyKey[], errors: FieldError[]): ZoneShape | null {
  const { geometry } = feature
  if (geometry.type === 'Polygon') {
    return readPolygon(geometry.coordinates[0] ?? [], [...path, 'geometry', 'coordinates', 0], errors)
  }
  const radiusM = feature.properties.radius_m ?? null
  const center = readPosition(geometry.coordinates, [...path, 'geometry', 'coordinates'], errors)
  if (radiusM === null) {
    const detail = 'is required with a Point'
    errors.push(fault([...path, 'properties', 'radius_m'], 'missing_field', detail))
  }
  if (radiusM === null || center === null) return null
  const { latM, longM } = scaleAt(center.latE7)
  const isOverPole = Math.abs(center.latE7) + radiusM / latM > 90e7
  if (isOverPole || Math.abs(center.longE7) + radiusM / longM > 180e7) {
    const detail = 'the circle crosses the antimeridian or a pole, which a zone cannot do'
    errors.push(fault([...path, 'geometry', 'coordinates'], 'crosses_antimeridian', detail))
    return null
  }
  return { kind: 'circle', center, radiusM }
}

type Position = readonly [number, number, ...unknown[]]

function readPolygon(positions: readonly Position[], path: PropertyKey[], errors: FieldError[]): ZoneShape | null {
  const points: Point[] = []
  for (const [i, position] of positions.entries()) {
    const point = readPosition(position, [...path, i], errors)
    // swapped longitude and latitude would give the same error 200 times
    if (point === null) return null
    points.push(point)
  }
  const corners = cornersOf(points)
  if (corners.length > ZONE_POINTS_MAX) {
    errors.push(fault(path, 'too_many_points', `a zone has at most ${ZONE_POINTS_MAX} points`))
    return null
  }
  const found = faultOf(corners)
  if (found !== null) {
    errors.push(fault(points.length === 0 ? path : [...path, found.at], found.code, found.detail))
    return null
  }
  return { kind: 'polygon', ring: corners.map(({ latE7, longE7 }) => ({ latE7, longE7 })) }
}

function readPosition([long, lat]: Position, path: PropertyKey[], errors: FieldError[]): Point | null {
  // NaN fails the comparison too
  if (Math.abs(lat) <= 90 && Math.abs(long) <= 180) {
    // + 0: minus zero is written as 0 and would be read as another number
    return { latE7: toE7(lat) + 0, longE7: toE7(long) + 0 }
  }
  const detail = 'must be longitude (-180 to 180), then latitude (-90 to 90), in degrees'
  errors.push(fault(path, 'invalid_position', detail))
  return null
}

function fault(path: readonly PropertyKey[], code: string, detail: string): FieldError {
  return { in: 'body', name: fieldPath(path), code, detail }
}

function refuseIfAny(errors: FieldError[]): void {
  const [first] = errors
  if (first === undefined) return
  const others = errors.length === 1 ? '' : ` (and ${errors.length - 1} more, see errors)`
  throw new InvalidRequestError(first.code, `${first.name}: ${first.detail}${others}`, errors)
}
