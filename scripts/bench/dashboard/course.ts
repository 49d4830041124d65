import { createCourse } from '#scripts/commands/simulate/course/course.ts'
import { toLatLong } from '#scripts/commands/simulate/course/plane.ts'
import { zonesOf } from '#scripts/commands/simulate/course/zones.ts'
import type { GatewayProcess } from '#scripts/rig/gateway-process.ts'
import { must } from '#scripts/rig/staff-course.ts'

/** Seed of the simulated course that the carts of these benchmarks drive on. */
export const SEED = 1
export const CENTER = { lat: 28.41, long: -81.58 }

/** Creates barn, boundary, 18 holes and their greens, and names the site. */
export async function drawCourse(gateway: GatewayProcess, carts: number): Promise<void> {
  const course = createCourse(SEED, CENTER)
  const greens = course.holes.map(({ number, green }) => {
    const { lat, long } = toLatLong(CENTER, green)
    const geometry = { type: 'Point', coordinates: [long, lat] }
    const properties = { name: `Green ${number}`, type: 'stop', radius_m: 14 }
    return { type: 'Feature', id: `green-${number}`, geometry, properties }
  })
  const { type, features } = zonesOf(course, carts)
  await must(gateway, 'PUT', '/zones', { type, features: [...features, ...greens] }, { 'If-Match': '*' })
  await must(gateway, 'PATCH', '/site', { name: 'Bench', pack: { empty_v: 46, full_v: 51, low_v: 47 } })
}
