import { type ActiveTrip, activeTrip, RECENT_SECONDS, recentActiveTrip } from '#shared/trips/active.ts'
import type { TripConfig } from '#shared/trips/config.ts'
import { withReason } from '#shared/trips/found.ts'
import { toActiveTripJson } from '#shared/trips/json.ts'
import type { ActiveTripJson } from '#shared/wire/trips.ts'
import { deviceCounts } from '../tables/devices.ts'
import type { ReaderTools } from '../telemetry/reader-tools.ts'
import { readTrack } from './track.ts'

export interface ActiveTripsQuery {
  devices: readonly {
    deviceId: number
    hardwareId: string
    /** Current time for this device. */
    nowMs: number
  }[]
  maxAgeSeconds: number
  lookbackSeconds: number
  positionsMax: number
  foundMax: number
  config: TripConfig
}

/** Current trips of devices, in the order of the devices. Throws `too_many_positions` and `too_many_trips`. */
export function findActiveTrips(tools: ReaderTools, query: ActiveTripsQuery): ActiveTripJson[] {
  const { maxAgeSeconds } = query
  return query.devices.flatMap((device) => {
    const { deviceId, hardwareId, nowMs } = device
    // the last valid fix is never newer than the newest record, even if that is dated in the future
    const newestMs = newestRecordMs(tools, deviceId)
    if (newestMs === null || newestMs < nowMs - maxAgeSeconds * 1000) return []
    const active = withReason(hardwareId, () => findActive(tools, { ...device, newestMs }, query))
    return active === undefined ? [] : [toActiveTripJson(hardwareId, active)]
  })
}

/** Reads only as far back as is needed for the same result as the whole lookback time. */
function findActive(
  tools: ReaderTools,
  { deviceId, hardwareId, nowMs, newestMs }: ActiveTripsQuery['devices'][number] & { newestMs: number },
  { config, maxAgeSeconds, lookbackSeconds, positionsMax, foundMax }: ActiveTripsQuery,
): ActiveTrip | undefined {
  const trackFrom = (fromMs: number) => readTrack(tools, { deviceId, hardwareId, fromMs, toMs: nowMs, positionsMax })
  const query = { nowMs, maxAgeSeconds, foundMax }
  const fromMs = Math.max(0, nowMs - lookbackSeconds * 1000)
  const recentFromMs = Math.min(nowMs, newestMs) - RECENT_SECONDS * 1000
  if (recentFromMs > fromMs) {
    const recent = recentActiveTrip(trackFrom(recentFromMs), config, query)
    if (recent !== undefined) return recent.active
  }
  return activeTrip(trackFrom(fromMs), config, query)
}

function newestRecordMs({ connection, unsaved }: ReaderTools, deviceId: number): number | null {
  return deviceCounts(connection, deviceId, unsaved).gps.lastMs
}
