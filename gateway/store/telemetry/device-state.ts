import { emptyState, type LatestState } from '#domain/latest-state.ts'
import { NO_ZONE_STATE, type WatchState } from '#shared/zones/watch.ts'
import type { Connection } from '../db/connection.ts'

/** What is known of a device from its own messages, as it is stored. */
export interface DeviceState {
  state: LatestState
  /** When its last message came. */
  updatedAtMs: number
  /** The same without last wills, which the broker sends. */
  lastRespondedAtMs: number | null
  /** Where it is among the zones of its group; never changed, only replaced. */
  watch: WatchState
}

/** The columns of `device_state` with what a device last said. */
export interface StateRow {
  latestJson: string
  stateUpdatedAtMs: number
  lastRespondedAtMs: number | null
  watchJson: string | null
}

/** Their SQL, of `device_state AS s`. */
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

/** The hardware id of a device; empty when it is gone. */
export function hardwareIdOf(connection: Connection, deviceId: number): string {
  const row = connection.get<{ hardwareId: string }>('SELECT hardware_id FROM device WHERE device_id = ?', deviceId)
  return row?.hardwareId ?? ''
}
