import type { SiteFeatureJson, ZonesJson } from '#shared/wire/zones.ts'

type Properties = Partial<SiteFeatureJson['properties']>

/** A set of zones as `GET /zones` answers it. */
export function zonesJson(...features: SiteFeatureJson[]): ZonesJson {
  return { type: 'FeatureCollection', version: 1, features }
}

/** A zone between two corners: longitude and latitude of the south-west, then of the north-east. */
export function boxZone(
  id: string,
  [west, south, east, north]: readonly [number, number, number, number],
  properties: Properties = {},
): SiteFeatureJson {
  const ring: [number, number][] = [
    [west, south],
    [east, south],
    [east, north],
    [west, north],
    [west, south],
  ]
  return { ...zone(id, properties), geometry: { type: 'Polygon', coordinates: [ring] } }
}

/** A zone around a longitude and latitude. */
export function circleZone(
  id: string,
  center: [number, number],
  radius_m: number,
  properties: Properties = {},
): SiteFeatureJson {
  return { ...zone(id, { radius_m, ...properties }), geometry: { type: 'Point', coordinates: center } }
}

function zone(id: string, properties: Properties): Omit<SiteFeatureJson, 'geometry'> {
  return {
    ...{ type: 'Feature', id },
    properties: { name: id, type: 'boundary', enabled: true, visible: true, ...properties },
  }
}
