import type { Dashboard } from '#dashboard/live/dashboard.ts'
import { ApiError } from '#shared/client.ts'
import { type Circle, withBarn } from './barn.ts'
import { readZones } from './site-zones.ts'

const CHANGED_MEANWHILE = 412

/**
 * Saves this circle as the barn of the site. If another user has changed the zones meanwhile, they are read again,
 * once; for a second conflict and any other error it throws `ApiError`.
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
