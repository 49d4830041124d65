import { createCourse } from '#scripts/commands/simulate/course/course.ts'
import { toLatLong } from '#scripts/commands/simulate/course/plane.ts'
import { zonesOf } from '#scripts/commands/simulate/course/zones.ts'
import { SIMULATED_CENTER } from '#scripts/rig/course.ts'
import type { GatewayApi } from '#scripts/rig/gateway-api.ts'
import type { NewFeature } from '#shared/wire/geofences.ts'

/** Seed of the simulated course that the carts of these benchmarks drive on. */
export const SEED = 1

/** Creates barn, boundary, 18 holes and their greens, and names the site. */
export async function drawCourse(api: GatewayApi, carts: number): Promise<void> {
  const course = createCourse(SEED, SIMULATED_CENTER)
  const greens = course.holes.map(({ number, green }): NewFeature => {
    const { lat, long } = toLatLong(SIMULATED_CENTER, green)
    const properties = { name: `Green ${number}`, type: 'stop' as const, radius_m: 14 }
    const geometry = { type: 'Point' as const, coordinates: [long, lat] as [number, number] }
    return { type: 'Feature', id: `green-${number}`, geometry, properties }
  })
  await api.drawZones([...zonesOf(course, carts).features, ...greens])
  await api.call('PATCH /site', { body: { name: 'Bench', pack: { empty_v: 46, full_v: 51, low_v: 47 } } })
}
