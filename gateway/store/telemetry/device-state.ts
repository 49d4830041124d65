import { emptyState, type LatestState } from '#domain/latest-state.ts'
import { NO_ZONE_STATE, type WatchState } from '#shared/zones/watch.ts'
import type { Connection } from '../db/connection.ts'

/** Stored state of a device, from its own messages. */
export interface DeviceState {
  state: LatestState
  /** Time of its last message. */
  updatedAtMs: number
  /** The same without last wills, which the broker sends on its behalf. */
  lastRespondedAtMs: number | null
  /** State of the device among the zones of its group; replaced, never modified. */
  watch: WatchState
}

/** Columns of `device_state` with the last reported values. */
export interface StateRow {
  latestJson: string
  stateUpdatedAtMs: number
  lastRespondedAtMs: number | null
  watchJson: string | null
}

/** SQL of these columns, for `device_state AS s`. */
export const STATE_COLUMNS = `s.latest AS latestJson, s.updated_at_ms AS stateUpdatedAtMs,
  s.last_responded_at_ms, s.watch AS watchJson`

export function stateOfRow({ latestJson, stateUpdatedAtMs, lastRespondedAtMs, watchJson }: StateRow): DeviceState {
  return {
    // both were written by this program only
    state: { ...emptyState(), ...JSON.parse(latestJson) },
    updatedAtMs: stateUpdatedAtMs,
    lastRespondedAtMs,
    watch: watchJson === null ? NO_ZONE_STATE : JSON.parse(watchJson),
  }
}

/** Hardware id of a device; empty if it was deleted. */
export function hardwareIdOf(connection: Connection, deviceId: number): string {
  const row = connection.get<{ hardwareId: string }>('SELECT hardware_id FROM device WHERE device_id = ?', deviceId)
  return row?.hardwareId ?? ''
}
