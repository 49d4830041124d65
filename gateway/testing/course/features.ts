/** Builds a collection of GeoJSON, as zones and maps are put. */
export const collection = (...features: unknown[]) => ({ type: 'FeatureCollection', features })

type Options = { at?: readonly number[]; [property: string]: unknown }

/** Builds a round zone, by default the barn of a course, with a radius of 25 m. */
export function circle(id: string, options: Options = {}) {
  const { at = [-81.6, 28.4], ...properties } = options
  return {
    type: 'Feature',
    id,
    geometry: { type: 'Point', coordinates: at },
    properties: { name: id, type: 'parking', radius_m: 25, ...properties },
  }
}

/** Builds the ring of a rectangle. */
export const box = (west: number, south: number, east: number, north: number) =>
  [west, east, east, west, west].map((long, i) => [long, i < 2 || i === 4 ? south : north])
