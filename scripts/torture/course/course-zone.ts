/** South of where carts drive. */
const [LAT, LONG] = [36.551, -121.965]
const SIZE = 0.001

/** Fairway or green of a hole, or a zone that only has a name, in the format of the API. */
export function courseZone(kind: 'fairway' | 'green' | 'mark', hole: number, enabled: boolean) {
  const west = LONG + hole * 2 * SIZE
  const south = LAT + (kind === 'green' ? 2 * SIZE : 0)
  const ring: [number, number][] = [
    [west, south],
    [west + SIZE, south],
    [west + SIZE, south + SIZE],
    [west, south + SIZE],
    [west, south],
  ]
  const id = kind === 'mark' ? kind : `${kind}-${hole}`
  return {
    type: 'Feature' as const,
    id,
    geometry: { type: 'Polygon' as const, coordinates: [ring] },
    properties: {
      name: kind === 'mark' ? 'mark 0' : id,
      type: 'alert' as const,
      enabled,
      ...(hole > 0 ? { hole } : {}),
    },
  }
}
