import type { Dashboard } from '#dashboard/live/dashboard.ts'
import type { Layer } from '#dashboard/live/layers.ts'

/** Which layer it is. */
export type LayerPlace =
  | { kind: 'type'; deviceType: string }
  | { kind: 'group'; groupId: number; deviceType: string }
  | { kind: 'device'; hardwareId: string }

/** What errors of a layer are called with: a type has other fields beside its layer. */
export const TYPE_PREFIX = 'defaults.'

/** Replaces a layer. Throws `ApiError`, which names each setting whose value does not fit. */
export async function saveLayer(api: Dashboard['api'], place: LayerPlace, layer: Layer): Promise<void> {
  if (place.kind === 'device') {
    await api.call('PUT /devices/{id}/config', { path: { id: place.hardwareId }, body: layer })
  } else if (place.kind === 'group') {
    const path = { groupId: place.groupId, type: place.deviceType }
    await api.call('PUT /groups/{groupId}/config/{type}', { path, body: layer })
  } else {
    const path = { type: place.deviceType }
    // the other fields of the type are replaced with it
    const { name: _, ...type } = await api.call('GET /device-types/{type}', { path })
    await api.call('PUT /device-types/{type}', { path, body: { ...type, defaults: layer } })
  }
}
