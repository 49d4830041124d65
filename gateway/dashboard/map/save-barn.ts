import type { Dashboard } from '#dashboard/live/dashboard.ts'
import { ApiError } from '#shared/client.ts'
import { type Circle, withBarn } from './barn.ts'
import { readZones } from './site-zones.ts'

const CHANGED_MEANWHILE = 412

/**
 * Makes this circle the barn of the site. Zones that somebody else changed meanwhile are read again, once; then, and
 * for any other refusal, throws `ApiError`.
 */
export async function saveBarn(dashboard: Pick<Dashboard, 'api'>, circle: Circle, name: string): Promise<void> {
  try {
    await putBarn(dashboard, circle, name)
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== CHANGED_MEANWHILE) throw error
    await putBarn(dashboard, circle, name)
  }
}

async function putBarn(dashboard: Pick<Dashboard, 'api'>, circle: Circle, name: string): Promise<void> {
  const { zones, etag } = await readZones(dashboard)
  await dashboard.api.call('PUT /zones', {
    body: { type: 'FeatureCollection', features: withBarn(zones, circle, name) },
    headers: { 'If-Match': etag },
  })
}
