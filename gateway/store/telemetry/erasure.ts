import type { TelemetryStream } from '#shared/ids.ts'
import { DamagedBlockError, NewerBlockError } from '#shared/telemetry/damaged-block.ts'
import type { Erase } from '#shared/wire/replication/sync.ts'
import { event, write } from '../db/audit.ts'
import type { Connection } from '../db/connection.ts'
import { addNote } from '../ledger/notes.ts'
import { encodeBatch, HAS_BATTERY, HAS_GPS, type TelemetryBatch } from './batch.ts'
import { decrementRecordCounts } from './block-counts.ts'
import type { DeletedRecords } from './deletion.ts'
import { hardwareIdOf } from './device-state.ts'
import { decodeLogRow, LOG_TRUNCATED } from './log-row.ts'
import type { WriterTables } from './log-tail.ts'
import { saveStates } from './save-states.ts'
import { applyStateChanges } from './state-changes.ts'
import { syncEnds } from './stream-positions.ts'

/** Records of one device to erase. */
interface Erasure {
  readonly deviceId: number
  readonly streams: readonly TelemetryStream[]
  readonly nowMs: number
}

/** Rows of the log read by one statement. */
const ROWS_A_STATEMENT = 200

/**
 * Starts the deletion of a device's records: erases those that were added to the log since it was last sealed, and
 * notes for the hub that all records of the device up to now are deleted. The records left to delete are in blocks, and
 * while the deletion holds the maintenance lock no blocks are added, so none is after the mark. Records that the device
 * sends from now on are kept, here and at the hub. Returns the number of erased records.
 */
export const beginErasure = write(
  (connection: WriterTables, erasure: Erasure): DeletedRecords => {
    const { deviceId, streams, nowMs } = erasure
    // the erased records were counted, and the states must not depend on the log after that
    saveStates(connection)
    const taken = eraseFromLog(connection, erasure)
    if (taken.gps + taken.battery > 0) {
      connection.run(LOG_TRUNCATED, 0)
      connection.tail.forget()
      for (const stream of streams) {
        if (taken[stream] > 0) decrementRecordCounts(connection, { deviceId, stream }, taken[stream])
      }
    }
    const hardwareId = connection.get<{ id: string }>(
      'SELECT hardware_id AS id FROM device WHERE device_id = ?',
      deviceId,
    )?.id
    // a device that is deleted by now was noted when it was deleted
    if (hardwareId !== undefined) markErasure(connection, { hardwareId, streams, nowMs })
    return taken
  },
  {
    audit: (connection, { deviceId, streams }) => {
      const hardwareId = hardwareIdOf(connection, deviceId)
      return () => [event('telemetry.deleted', hardwareId, { streams })]
    },
  },
)

/**
 * Notes for the hub that the records of a device are deleted up to the current ends of telemetry and history. Must be
 * called in a transaction after which none of the records to keep is stored. A batch for the hub never spans the mark,
 * and nothing after it is sent before the hub acknowledges the note.
 */
export function markErasure(
  connection: Connection,
  of: { hardwareId: string; streams: readonly TelemetryStream[]; nowMs: number },
): void {
  const ends = syncEnds(connection)
  const body: Erase = {
    hardware_id: of.hardwareId,
    kinds: [...of.streams],
    telemetry_through: ends.telemetry,
    history_through: ends.history,
  }
  const noteSeq = addNote(connection, { kind: 'erase', atMs: of.nowMs, body })
  connection.run(
    'INSERT INTO erase_mark (note_seq, telemetry_seq, history_seq) VALUES (?, ?, ?)',
    noteSeq,
    ends.telemetry,
    ends.history,
  )
}

/** Blanks the erased samples, which keep their positions because those are their sequence numbers. */
function eraseFromLog(connection: WriterTables, erasure: Erasure): DeletedRecords {
  const taken = { gps: 0, battery: 0 }
  let afterSeq = -1
  for (;;) {
    const rows = connection.all<{ firstSeq: number; samples: Uint8Array; changes: Uint8Array | null }>(
      `SELECT first_seq, samples, state_changes AS changes FROM telemetry_log WHERE first_seq > ?
       ORDER BY first_seq LIMIT ${ROWS_A_STATEMENT}`,
      afterSeq,
    )
    for (const { firstSeq, samples, changes } of rows) {
      afterSeq = firstSeq
      const batch = readable(samples)
      const isTaken = batch !== null && eraseFrom(batch, erasure, taken)
      if (isTaken)
        connection.run('UPDATE telemetry_log SET samples = ? WHERE first_seq = ?', encodeBatch(batch), firstSeq)
      // these also hold positions of the device
      if (changes !== null && (isTaken || changesState(changes, erasure.deviceId)))
        connection.run('UPDATE telemetry_log SET state_changes = NULL WHERE first_seq = ?', firstSeq)
    }
    if (rows.length < ROWS_A_STATEMENT) return taken
  }
}

/** True if the changes are of the device, or cannot be read. */
function changesState(changes: Uint8Array, deviceId: number): boolean {
  let isOf = false
  const noState = (of: number) => {
    isOf ||= of === deviceId
    return undefined
  }
  try {
    applyStateChanges(changes, noState)
    return isOf
  } catch (error) {
    if (error instanceof DamagedBlockError || error instanceof NewerBlockError) return true
    throw error
  }
}

/** Copy of the batch, which may be modified; null for an unreadable row, which could not be sent either. */
function readable(samples: Uint8Array): TelemetryBatch | null {
  try {
    return decodeLogRow(new Uint8Array(samples))
  } catch (error) {
    if (error instanceof DamagedBlockError || error instanceof NewerBlockError) return null
    throw error
  }
}

function eraseFrom(batch: TelemetryBatch, { deviceId, streams }: Erasure, taken: DeletedRecords): boolean {
  let isChanged = false
  for (let i = 0; i < batch.count; i++) {
    if (batch.deviceId[i] !== deviceId) continue
    if (streams.includes('gps') && ((batch.streams[i] ?? 0) & HAS_GPS) !== 0) {
      batch.streams[i] = (batch.streams[i] ?? 0) & ~HAS_GPS
      for (const column of [batch.latE7, batch.longE7, batch.speedMilliKmh]) column[i] = 0
      taken.gps++
      isChanged = true
    }
    if (streams.includes('battery') && ((batch.streams[i] ?? 0) & HAS_BATTERY) !== 0) {
      batch.streams[i] = (batch.streams[i] ?? 0) & ~HAS_BATTERY
      batch.voltageMv[i] = 0
      taken.battery++
      isChanged = true
    }
  }
  return isChanged
}
