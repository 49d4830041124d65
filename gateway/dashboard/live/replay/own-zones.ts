import { computed, type ReadonlySignal } from '@preact/signals-core'
import type { ApiClient } from '#shared/client.ts'
import type { SiteFeatureJson } from '#shared/wire/zones.ts'
import type { Fleet } from '../fleet/fleet.ts'

/** Own zones of groups, keyed by group number. */
export type OwnZones = ReadonlyMap<number, readonly SiteFeatureJson[]>

export const NO_OWN_ZONES: OwnZones = new Map()

/** Groups of all devices, ascending, as text, so that the signal changes only when the groups do. */
export function groupsIn({ devices, version }: Pick<Fleet, 'devices' | 'version'>): ReadonlySignal<string> {
  return computed(() => {
    const known = version.value >= 0 ? [...devices.values()] : []
    const groups = new Set(known.flatMap(({ group_id }) => group_id ?? []))
    return [...groups].sort((a, b) => a - b).join()
  })
}

/** Reads the current own zones of these groups. Throws the errors of `ApiClient`. */
export async function readOwnZones(
  api: Pick<ApiClient, 'call'>,
  groupIds: Iterable<number>,
  signal: AbortSignal,
): Promise<OwnZones> {
  const own = new Map<number, readonly SiteFeatureJson[]>()
  for (const groupId of groupIds) {
    const path = { groupId }
    own.set(groupId, (await api.call('GET /groups/{groupId}/geofences', { path, signal })).features)
  }
  return own
}
