import { z } from 'zod'
import { ApiClient, ApiError } from '#shared/client.ts'
import { zonesOf } from './course/zones.ts'
import { COURSE_NAME, courseSettings } from './course-settings.ts'
import type { FleetPlan } from './fleet-plan.ts'
import type { SimulateOptions } from './options.ts'
import { asked, type Registry } from './register.ts'

const zonesSchema = z.looseObject({ features: z.array(z.unknown()) })

/** Gives a gateway that has no zones and no name those of the simulated course; leaves one that has some as it is. */
export async function setUpCourse(
  plan: FleetPlan,
  { gatewayUrl: url, adminKey: apiKey }: Pick<SimulateOptions, 'gatewayUrl' | 'adminKey'>,
  { nowMs, signal }: { nowMs: number; signal: AbortSignal },
): Promise<void> {
  const gateway: Registry = { name: 'gateway', startedWith: 'npm start', url, signal }
  const client = new ApiClient({ url, apiKey, signal })
  await asked(gateway, 'take the settings', () => setUpSite(client, nowMs))
  await asked(gateway, 'take the zones', () => drawZones(client, plan))
}

/** A course that was set up before begins its mid-morning anew. */
async function setUpSite(client: ApiClient, nowMs: number): Promise<void> {
  const { name, time_zone: zone } = await client.call('GET /site')
  const settings = courseSettings(nowMs)
  if (name === '') await client.call('PATCH /site', { body: settings })
  else if (name === COURSE_NAME && zone.startsWith('Etc/'))
    await client.call('PATCH /site', { body: { time_zone: settings.time_zone } })
}

async function drawZones(client: ApiClient, plan: FleetPlan): Promise<void> {
  const response = await client.download('GET /zones')
  const { features } = zonesSchema.parse(await response.json())
  if (features.length > 0) return
  // a person who draws zones meanwhile has drawn them first
  const headers = { 'If-Match': response.headers.get('etag') ?? '*' }
  await client
    .call('PUT /zones', { body: zonesOf(plan.course, plan.carts), headers })
    .catch((error: unknown) => {
      if (!(error instanceof ApiError && error.status === 412)) throw error
    })
}
