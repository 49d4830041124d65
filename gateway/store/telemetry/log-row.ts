import { isBlockTime } from '#shared/telemetry/block-header.ts'
import { DamagedBlockError, NewerBlockError } from '#shared/telemetry/damaged-block.ts'
import { BATTERY, type ColumnRule, GPS, NO_SPEED } from '#shared/telemetry/records.ts'
import { write } from '../db/audit.ts'
import { syncCursors } from '../ledger/cursors.ts'
import { Gaps } from '../ledger/gaps.ts'
import { decodeBatch, sampleCountOf, type TelemetryBatch } from './batch.ts'
import type { WriterTables } from './log-tail.ts'
import { saveStates } from './save-states.ts'

/** Must run with every deletion from the log: its numbers are not reused, and reader threads load it again. */
export const LOG_TRUNCATED = 'UPDATE telemetry_log_end SET next_seq = max(next_seq, ?), cuts = cuts + 1'

/** Value of the stream in `damaged_block` for a log row. */
const LOG = 'log'

/** Decodes a row and checks that its samples fit into blocks. Throws `DamagedBlockError`, `NewerBlockError`. */
export function decodeLogRow(bytes: Uint8Array): TelemetryBatch {
  const batch = decodeBatch(bytes)
  const { atMs, count } = batch
  for (let i = 0; i < count; i++) if (!isBlockTime(atMs[i] ?? 0)) throw impossible(`time ${atMs[i]}`)
  // a sample without a stream has 0 in its columns, which every rule allows
  for (const [i, rule] of GPS.rules.entries()) check(GPS.columnsOf(batch)[i], rule)
  for (const [i, rule] of BATTERY.rules.entries()) check(BATTERY.columnsOf(batch)[i], rule)
  return batch
}

function check(column: Int32Array = new Int32Array(), rule: ColumnRule): void {
  const min = rule.isOptional ? NO_SPEED : rule.min
  const { max } = rule
  for (let i = 0; i < column.length; i++) {
    const value = column[i] ?? 0
    if (value < min || value > max) throw impossible(`${rule.name} ${value}`)
  }
}

/**
 * Moves a damaged row of the log to the damaged blocks, under a number that no block has, so that later rows can be
 * sealed. The number and the devices of its samples are unknown. False for a row that is not damaged.
 */
export const quarantineLogRow = write(
  (connection: WriterTables, { firstSeq, nowMs }: { firstSeq: number; nowMs: number }): boolean => {
    const row = connection.get<{ samples: Uint8Array }>(
      'SELECT samples FROM telemetry_log WHERE first_seq = ?',
      firstSeq,
    )
    if (row === undefined) return false
    const reason = damageOf(row.samples)
    if (reason === null) return false
    // the state changes next to the samples may be intact
    saveStates(connection)
    // dated at its discovery, so that it is kept as long as records stored now
    connection.run(
      `INSERT INTO damaged_block (block_id, device_id, stream, first_ms, last_ms, count, reason, found_at_ms, records)
     VALUES (?, 0, '${LOG}', ?, ?, 0, ?, ?, ?)`,
      -firstSeq,
      nowMs,
      nowMs,
      reason,
      nowMs,
      row.samples,
    )
    noteLoss(connection, { firstSeq, count: sampleCountOf(row.samples), nowMs })
    connection.run('DELETE FROM telemetry_log WHERE first_seq = ?', firstSeq)
    // it may have been the last row, and its numbers must not be reused
    connection.run(LOG_TRUNCATED, firstSeq + row.samples.length + 1)
    connection.tail.forget()
    return true
  },
  { audit: null, changesTelemetry: true },
)

/** Notes a gap of unknown devices and times, with the maximum number of samples. */
function noteLoss(
  connection: WriterTables,
  { firstSeq, count, nowMs }: { firstSeq: number; count: number; nowMs: number },
): void {
  const lastSeq = firstSeq + Math.max(count, 1) - 1
  if (lastSeq <= syncCursors(connection).telemetry.seq) return
  const gaps = new Gaps(connection)
  for (const stream of ['gps', 'battery'] as const) gaps.addUnknown(stream, 0, nowMs, count)
  gaps.write('damage', nowMs)
}

function damageOf(samples: Uint8Array): string | null {
  try {
    decodeLogRow(samples)
    return null
  } catch (error) {
    if (error instanceof NewerBlockError) return null
    if (error instanceof DamagedBlockError) return error.reason
    throw error
  }
}

function impossible(what: string): DamagedBlockError {
  return new DamagedBlockError('impossible_content', what)
}
