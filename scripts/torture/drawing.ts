import type { Random } from '#shared/random.ts'

const WAY_POINTS = 1000
const DEGREES = 0.1
const E7 = 1e7
const [WEST, SOUTH] = [-81.1, 28]

/** Creates a drawing of that many thousand random positions, incompressible: some nine bytes each in the gateway. */
export function drawingOf(thousands: number, random: Random): Record<string, unknown> {
  const place = (from: number) => Math.round((from + DEGREES * random.next()) * E7) / E7
  const features = Array.from({ length: thousands }, (_, way) => ({
    type: 'Feature',
    id: `way/${way + 1}`,
    properties: { golf: 'cartpath' },
    geometry: {
      type: 'LineString',
      coordinates: Array.from({ length: WAY_POINTS }, () => [place(WEST), place(SOUTH)]),
    },
  }))
  return { type: 'FeatureCollection', features }
}
