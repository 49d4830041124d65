import type { Connection } from '../db/connection.ts'
import type { DeviceState } from './device-state.ts'
import { type NewRecords, type NewRecordsOf, readUnsaved, savedUntil } from './unsaved-states.ts'

// The states of devices and their record counts follow from the log: transactions of telemetry leave their samples and
// the changes of states (state-changes.ts) in it. Updating the rows of `device_state` in each transaction would cost
// more than the samples. So the rows are only a copy of the log up to `saved_seq`:
//   keep    a transaction leaves its changes in its row of the log or, without a new sample, in `state_change`
//   save    once a minute, at a stop, and before the log is shortened or records are removed, the rows are brought up
//           to the end of the log
//   read    a reader of the rows adds newer data: `UnsavedRecords` to the counts, `readUnsaved` to the states

/** Stores the state changes of a transaction that has no row in the log. */
export function keepStateChanges(connection: Connection, changes: Uint8Array): void {
  connection.run(
    'INSERT INTO state_change (after_seq, changes) SELECT ifnull(max(first_seq), 0), ? FROM telemetry_log',
    changes,
  )
}

const SAVE_STATE = `UPDATE device_state SET latest = ?, updated_at_ms = ?, last_responded_at_ms = ?, watch = ?
  WHERE device_id = ?`
const COUNT_RECORDS = `UPDATE device_state SET
    gps_count = gps_count + ?,
    gps_first_ms = min(ifnull(gps_first_ms, ?), ifnull(?, gps_first_ms)),
    gps_last_ms = max(ifnull(gps_last_ms, ?), ifnull(?, gps_last_ms)),
    battery_count = battery_count + ?,
    battery_first_ms = min(ifnull(battery_first_ms, ?), ifnull(?, battery_first_ms)),
    battery_last_ms = max(ifnull(battery_last_ms, ?), ifnull(?, battery_last_ms))
  WHERE device_id = ?`

/** Brings the rows of `device_state` up to the end of the log; the caller holds the transaction. */
export function saveStates(connection: Connection): void {
  const { savedSeq, lastSeq } = savedUntil(connection)
  const isLogSaved = lastSeq === null || lastSeq <= savedSeq
  if (isLogSaved && connection.get('SELECT 1 FROM state_change LIMIT 1') === undefined) return
  const { states, records } = readUnsaved(connection)
  for (const [deviceId, state] of states) saveState(connection, deviceId, state)
  for (const [deviceId, counted] of records.byDevice) connection.run(COUNT_RECORDS, ...valuesOf(counted), deviceId)
  if (!isLogSaved) connection.run('UPDATE telemetry_log_end SET saved_seq = ?', lastSeq)
  connection.run('DELETE FROM state_change')
}

function saveState(connection: Connection, deviceId: number, known: DeviceState): void {
  const { state, updatedAtMs, lastRespondedAtMs, watch } = known
  const watchJson = watch.last === null && watch.zones.length === 0 ? null : JSON.stringify(watch)
  connection.run(SAVE_STATE, JSON.stringify(state), updatedAtMs, lastRespondedAtMs, watchJson, deviceId)
}

function valuesOf({ gps, battery }: NewRecordsOf): (number | null)[] {
  return [gps, battery].flatMap(({ count, firstMs, lastMs }: NewRecords) =>
    count === 0 ? [0, null, null, null, null] : [count, firstMs, firstMs, lastMs, lastMs],
  )
}
