import type { ZonesJson } from '#shared/wire/zones.ts'

type ZoneJson = ZonesJson['features'][number]
type Properties = Partial<ZoneJson['properties']>

/** Builds a set of zones as in the response of `GET /zones`. */
export function zonesJson(...features: ZoneJson[]): ZonesJson {
  return { type: 'FeatureCollection', version: 1, features }
}

/** Builds a zone between two corners: longitude and latitude of the south-west, then of the north-east. */
export function boxZone(
  id: string,
  [west, south, east, north]: readonly [number, number, number, number],
  properties: Properties = {},
): ZoneJson {
  const ring: [number, number][] = [
    [west, south],
    [east, south],
    [east, north],
    [west, north],
    [west, south],
  ]
  return { ...zone(id, properties), geometry: { type: 'Polygon', coordinates: [ring] } }
}

/** Builds a circular zone around a longitude and latitude. */
export function circleZone(
  id: string,
  center: [number, number],
  radius_m: number,
  properties: Properties = {},
): ZoneJson {
  return { ...zone(id, { radius_m, ...properties }), geometry: { type: 'Point', coordinates: center } }
}

function zone(id: string, properties: Properties): Omit<ZoneJson, 'geometry'> {
  return {
    type: 'Feature',
    id,
    properties: { name: id, type: 'boundary', enabled: true, visible: true, switched: null, ...properties },
  }
}
