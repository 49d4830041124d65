import type { Dashboard } from '#dashboard/live/dashboard.ts'
import type { Layer } from '#dashboard/live/layers.ts'

export type LayerPlace =
  | { kind: 'type'; deviceType: string }
  | { kind: 'group'; groupId: number; deviceType: string }
  | { kind: 'device'; hardwareId: string }

/** Prefix of a layer's fields in errors: a type has other fields in addition to its layer. */
export const TYPE_PREFIX = 'defaults.'

/** Replaces a layer. Throws `ApiError`, which names each setting with an invalid value. */
export async function saveLayer(api: Dashboard['api'], place: LayerPlace, layer: Layer): Promise<void> {
  if (place.kind === 'device') {
    await api.call('PUT /devices/{id}/config', { path: { id: place.hardwareId }, body: layer })
  } else if (place.kind === 'group') {
    const path = { groupId: place.groupId, type: place.deviceType }
    await api.call('PUT /groups/{groupId}/config/{type}', { path, body: layer })
  } else {
    const path = { type: place.deviceType }
    // the request replaces the other fields of the type too
    const { name: _, ...type } = await api.call('GET /device-types/{type}', { path })
    await api.call('PUT /device-types/{type}', { path, body: { ...type, defaults: layer } })
  }
}
