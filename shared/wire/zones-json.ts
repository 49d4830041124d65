import { fromE7, toE7 } from '#shared/geo.ts'
import { toIso } from '#shared/time.ts'
import type { Point } from '#shared/zones/geometry.ts'
import type { SiteZone, Zone, ZoneShape } from '#shared/zones/zone.ts'
import type { GeofencesJson } from './geofences.ts'
import type { SiteFeatureJson, ZoneSwitchesBody, ZonesJson } from './zones.ts'

type FeatureJson = GeofencesJson['features'][number]

/** Returns zones as GeoJSON; rings are closed and keep the direction in which they were sent. */
export function toGeofencesJson(zones: readonly Zone[]): GeofencesJson {
  return { type: 'FeatureCollection', features: zones.map(toFeatureJson) }
}

/** Returns zones of the site as GeoJSON. They are stored in this form too, because it is half as long. */
export function toSiteFeaturesJson(zones: readonly SiteZone[]): SiteFeatureJson[] {
  return zones.map((zone) => {
    const { properties, ...feature } = toFeatureJson(zone)
    const groups = zone.groups === null ? {} : { groups: [...zone.groups] }
    return { ...feature, properties: { ...properties, ...groups } }
  })
}

/** Zones of the site as returned, with their temporary overrides. */
export function withSwitches(features: readonly SiteFeatureJson[], switches: ZoneSwitchesBody): ZonesJson['features'] {
  // zone ids may be names such as __proto__
  const known = new Map(Object.entries(switches))
  return features.map((feature) => {
    const is = known.get(feature.id)
    const switched =
      is === undefined
        ? { switched: null }
        : {
            switched: { until: is.until_ms === null ? null : toIso(is.until_ms), by: is.by },
            enabled_before: is.was_enabled,
            switched_at: toIso(is.since_ms),
          }
    return { ...feature, properties: { ...feature.properties, ...switched } }
  })
}

/** Restores zones from the output of `toSiteFeaturesJson`, without validation. */
export function fromSiteFeaturesJson(features: readonly SiteFeatureJson[]): SiteZone[] {
  return features.map(({ id, geometry, properties }) => ({
    id,
    name: properties.name,
    type: properties.type,
    isEnabled: properties.enabled,
    isVisible: properties.visible,
    message: properties.message ?? null,
    maxSpeedKmh: properties.max_speed_kmh ?? null,
    hole: properties.hole ?? null,
    ...(properties.lock_here === true ? { locksHere: true } : {}),
    groups: properties.groups ?? null,
    shape: fromGeometry(geometry, properties.radius_m ?? 0),
  }))
}

function toFeatureJson(zone: Zone): FeatureJson {
  return {
    type: 'Feature',
    id: zone.id,
    geometry: toGeometry(zone.shape),
    properties: {
      name: zone.name,
      type: zone.type,
      enabled: zone.isEnabled,
      visible: zone.isVisible,
      ...(zone.shape.kind === 'circle' ? { radius_m: zone.shape.radiusM } : {}),
      ...(zone.message === null ? {} : { message: zone.message }),
      ...(zone.maxSpeedKmh === null ? {} : { max_speed_kmh: zone.maxSpeedKmh }),
      ...(zone.hole === null ? {} : { hole: zone.hole }),
      ...(zone.locksHere === true ? { lock_here: true } : {}),
    },
  }
}

function toGeometry(shape: ZoneShape): FeatureJson['geometry'] {
  if (shape.kind === 'circle') return { type: 'Point', coordinates: toPosition(shape.center) }
  return {
    type: 'Polygon',
    coordinates: [[...shape.ring, ...shape.ring.slice(0, 1)].map(toPosition)],
  }
}

function fromGeometry(geometry: FeatureJson['geometry'], radiusM: number): ZoneShape {
  if (geometry.type === 'Point') return { kind: 'circle', center: fromPosition(geometry.coordinates), radiusM }
  // the ring was closed when it was written
  return { kind: 'polygon', ring: (geometry.coordinates[0] ?? []).slice(0, -1).map(fromPosition) }
}

function toPosition({ latE7, longE7 }: Point): [number, number] {
  return [fromE7(longE7), fromE7(latE7)]
}

function fromPosition([long, lat]: readonly [number, number]): Point {
  return { latE7: toE7(lat) + 0, longE7: toE7(long) + 0 }
}
