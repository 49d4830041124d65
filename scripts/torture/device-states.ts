import type { GatewayApi } from '#scripts/rig/gateway-api.ts'
import { inParallel } from '#shared/in-parallel.ts'

const READS_AT_ONCE = 4

/** State of a device in the API, and its newest position. */
export interface ShownState {
  attributes: Record<string, unknown>
  lastAt: string | null
  newest: { timestamp: string; lat: number; long: number; speed?: number | undefined } | null
}

/**
 * Finds devices whose state differs from their newest record, while none sends. Each message is newer than the one
 * before and has a position, so state and counts must end where the history ends.
 */
export async function findWrongStates(api: GatewayApi, hardwareIds: readonly string[]): Promise<string[]> {
  const shown = await inParallel(hardwareIds, READS_AT_ONCE, (hardwareId) => readState(api, hardwareId))
  return hardwareIds.filter((_, i) => !isOfNewest(shown[i]))
}

async function readState(api: GatewayApi, id: string): Promise<ShownState> {
  const { attributes, telemetry } = await api.call('GET /devices/{id}/details', { path: { id } })
  const query = { order: 'desc', limit: 1 } as const
  const [newest = null] = await api.call('GET /devices/{id}/gps', { path: { id }, query })
  return { attributes, lastAt: telemetry.gps.last_at, newest }
}

/** True if attributes and counts of a device end on its newest record. */
export function isOfNewest(shown: ShownState | undefined): boolean {
  if (shown === undefined) return false
  const { attributes, lastAt, newest } = shown
  if (newest === null) return attributes.lat === undefined && lastAt === null
  return (
    attributes.lat === newest.lat &&
    attributes.long === newest.long &&
    attributes.speed === newest.speed &&
    lastAt === newest.timestamp
  )
}
