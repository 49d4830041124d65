import type { GatewayApi, ShownState } from '#scripts/rig/gateway-api.ts'
import { inParallel } from '#shared/in-parallel.ts'

const READS_AT_ONCE = 4

/**
 * Finds devices whose state differs from their newest record, while none sends. Each message is newer than the one
 * before and has a position, so state and counts must end where the history ends.
 */
export async function findWrongStates(api: GatewayApi, hardwareIds: readonly string[]): Promise<string[]> {
  const shown = await inParallel(hardwareIds, READS_AT_ONCE, (hardwareId) => api.shownState(hardwareId))
  return hardwareIds.filter((_, i) => !isOfNewest(shown[i]))
}

/** True if attributes and counts of a device end on its newest record. */
export function isOfNewest(shown: ShownState | undefined): boolean {
  if (shown === undefined) return false
  const { attributes, counted, newest } = shown
  if (newest === null) return attributes.lat === undefined && counted.lastAt === null
  return (
    attributes.lat === newest.lat &&
    attributes.long === newest.long &&
    attributes.speed === newest.speed &&
    counted.lastAt === newest.timestamp
  )
}
