import type { TelemetryStream } from '#shared/ids.ts'
import { write } from '../db/audit.ts'
import type { Connection } from '../db/connection.ts'
import { syncCursors } from '../ledger/cursors.ts'
import { isLogged, logBlock } from '../ledger/gaps.ts'
import { blockBeginningBy } from './block-rows.ts'
import { removeBlock } from './detached-blocks.ts'
import { LOG_TRUNCATED } from './log-row.ts'
import type { WriterTables } from './log-tail.ts'
import { saveStates } from './save-states.ts'

export interface NewBlock {
  readonly firstMs: number
  readonly lastMs: number
  readonly count: number
  /** telemetry-block.ts */
  readonly records: Uint8Array
}

/** Blocks of one device's stream that replace others, all or nothing. */
export interface BlockReplacement {
  readonly deviceId: number
  readonly stream: TelemetryStream
  /** Numbers of the removed blocks. */
  readonly removes: readonly number[]
  readonly adds: readonly NewBlock[]
}

const INSERT_BLOCK = `INSERT INTO telemetry_block (device_id, stream, first_ms, last_ms, count, records)
  VALUES (?, ?, ?, ?, ?, ?)`

/** Adds a block that must not overlap another one of its stream. Returns its number. */
export function insertBlock(
  connection: Connection,
  { deviceId, stream }: { deviceId: number; stream: TelemetryStream },
  { firstMs, lastMs, count, records }: NewBlock,
): number {
  const { lastInsertRowid } = connection.statement(INSERT_BLOCK).run(deviceId, stream, firstMs, lastMs, count, records)
  return Number(lastInsertRowid)
}

export interface BlockChange {
  readonly replacements: readonly BlockReplacement[]
  /** Sequence number of the last log sample in the blocks. */
  readonly throughSeq: number
}

/**
 * Replaces blocks as planned, except of deleted devices. Throws if the blocks have changed since the plan was made. The
 * caller keeps the transaction small. Blocks with unacknowledged records are entered in the log of blocks.
 */
export const replaceBlocks = write(
  (connection: WriterTables, { replacements, throughSeq }: BlockChange): void => {
    const isNew = throughSeq > syncCursors(connection).telemetry.seq
    for (const { deviceId, stream, removes, adds } of replacements) {
      if (connection.get('SELECT 1 FROM device WHERE device_id = ?', deviceId) === undefined) continue
      let isUnsent = isNew
      for (const blockId of removes) {
        isUnsent ||= isLogged(connection, blockId)
        if (!isThere(connection, blockId, deviceId, stream) || !removeBlock(connection, blockId))
          throw new Error(`cannot replace block ${blockId}: it was deleted`)
      }
      for (const block of adds) {
        const before = blockBeginningBy(connection, deviceId, stream, block.lastMs)
        if (before !== undefined && before.lastMs >= block.firstMs) {
          throw new Error(`a new block of device ${deviceId} overlaps an existing one`)
        }
        const blockId = insertBlock(connection, { deviceId, stream }, block)
        if (isUnsent) logBlock(connection, blockId)
      }
    }
  },
  { audit: null, changesTelemetry: true },
)

function isThere(connection: Connection, blockId: number, deviceId: number, stream: TelemetryStream): boolean {
  const found = connection.get(
    'SELECT 1 FROM stored_block WHERE block_id = ? AND device_id = ? AND stream = ?',
    blockId,
    deviceId,
    stream,
  )
  return found !== undefined
}

/** Rows of the log that `dropLog` deletes because their samples are in blocks. */
export interface LogDrop {
  readonly fromSeq: number
  /** Sequence number of the last sample of the last row. */
  readonly throughSeq: number
  /** First sequence numbers of the rows to keep. */
  readonly keptSeqs?: readonly number[]
  /** Maximum number of rows. */
  readonly limit: number
}

/** A step also ends after this many bytes, because rows of large batches take many pages each. */
const DROPPED_BYTES = 1 << 20

/** Deletes sealed rows of the log, one step at a time. Returns whether it was the last step. */
export const dropLog = write(
  (connection: WriterTables, { fromSeq, throughSeq, keptSeqs = [], limit }: LogDrop): { isDone: boolean } => {
    const sealed = 'first_seq BETWEEN ? AND ? AND first_seq NOT IN (SELECT value FROM json_each(?))'
    const kept = JSON.stringify(keptSeqs)
    const rows = connection
      .statement<{ firstSeq: number; samples: Uint8Array }>(
        `SELECT first_seq AS firstSeq, samples FROM telemetry_log
       WHERE ${sealed} ORDER BY first_seq LIMIT ?`,
      )
      .iterate(fromSeq, throughSeq, kept, limit)
    const dropped: Uint8Array[] = []
    let bytes = 0
    let lastSeq: number | null = null
    for (const row of rows) {
      lastSeq = row.firstSeq
      bytes += row.samples.length
      dropped.push(row.samples)
      if (bytes >= DROPPED_BYTES) break
    }
    // the rows also hold state changes of devices
    saveStates(connection)
    // sequence numbers are not reused, even if this was the end of the log
    connection.run(LOG_TRUNCATED, throughSeq + 1)
    if (lastSeq === null) return { isDone: true }
    connection.run(`DELETE FROM telemetry_log WHERE ${sealed}`, fromSeq, lastSeq, kept)
    connection.tail.dropped(dropped)
    return { isDone: dropped.length < limit && bytes < DROPPED_BYTES }
  },
  { audit: null, changesTelemetry: true },
)
