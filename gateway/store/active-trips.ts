import { activeTrip } from '../../shared/active-trip.ts'
import { withReason } from '../../shared/found-trips.ts'
import type { TripConfig } from '../../shared/trip-config.ts'
import { toActiveTripJson } from '../../shared/trip-json.ts'
import type { ActiveTripJson } from '../../shared/wire/trips.ts'
import type { ReaderTools } from './reader-tools.ts'
import { readTrack } from './track.ts'

export interface ActiveTripsQuery {
  devices: readonly {
    deviceId: number
    hardwareId: string
    /** What time it is for this device. */
    nowMs: number
  }[]
  maxAgeSeconds: number
  lookbackSeconds: number
  positionsMax: number
  foundMax: number
  config: TripConfig
}

/** The trips that devices are on now, in the order of the devices. Throws `too_many_positions` and `too_many_trips`. */
export function findActiveTrips(tools: ReaderTools, query: ActiveTripsQuery): ActiveTripJson[] {
  const { config, maxAgeSeconds, lookbackSeconds, positionsMax, foundMax } = query
  return query.devices.flatMap(({ deviceId, hardwareId, nowMs }) => {
    // the last fix that counts is no newer than the newest record, not even than one that is dated after now
    const newestMs = newestRecordMs(tools, deviceId)
    if (newestMs === null || newestMs < nowMs - maxAgeSeconds * 1000) return []
    const fromMs = Math.max(0, nowMs - lookbackSeconds * 1000)
    const track = readTrack(tools, { deviceId, hardwareId, fromMs, toMs: nowMs, positionsMax })
    const active = withReason(hardwareId, () => activeTrip(track, config, { nowMs, maxAgeSeconds, foundMax }))
    return active === undefined ? [] : [toActiveTripJson(hardwareId, active)]
  })
}

function newestRecordMs({ connection }: ReaderTools, deviceId: number): number | null {
  const row = connection.get<{ newestMs: number | null }>(
    'SELECT gps_last_ms AS newestMs FROM device_state WHERE device_id = ?',
    deviceId,
  )
  return row?.newestMs ?? null
}
