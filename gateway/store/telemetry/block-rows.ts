import type { TelemetryStream } from '#shared/ids.ts'
import { MAX_BLOCK_RECORDS } from '#shared/telemetry/block.ts'
import type { RecordKind, Records } from '#shared/telemetry/records.ts'
import type { Connection } from '../db/connection.ts'
import { decodeStoredBlock } from './stored-block.ts'
import { isUnreadable, readBlock, type UnreadableBlock, unreadableReason } from './unreadable-block.ts'

/** Index entry of a block. */
export interface BlockLocation {
  readonly blockId: number
  readonly firstMs: number
  readonly lastMs: number
  readonly count: number
}

const COLUMNS = 'block_id AS blockId, first_ms AS firstMs, last_ms AS lastMs, count'
// `+?`: with a plain `?` and an ORDER BY or a LIMIT, SQLite prepares the statement again whenever a value is bound (its
// planner has used the value), which takes ten times as long as the query.
const OF_STREAM = 'FROM stored_block WHERE device_id = +? AND stream = +?'

/** Number of blocks that `newestBlocks` checks. */
const NEWEST_BLOCKS = 16

/** Last blocks, newest first: at most `NEWEST_BLOCKS`, none before the first full one, as each is on its own page. */
export function newestBlocks(connection: Connection, deviceId: number, stream: TelemetryStream): BlockLocation[] {
  const rows = connection
    .statement<BlockLocation>(`SELECT ${COLUMNS} ${OF_STREAM} ORDER BY first_ms DESC LIMIT ${NEWEST_BLOCKS}`)
    .iterate(deviceId, stream)
  const newest: BlockLocation[] = []
  for (const row of rows) {
    newest.push(row)
    if (row.count >= MAX_BLOCK_RECORDS) break
  }
  return newest
}

/** Last block that begins at or before `atMs`. */
export function blockBeginningBy(
  connection: Connection,
  deviceId: number,
  stream: TelemetryStream,
  atMs: number,
): BlockLocation | undefined {
  return connection.get(
    `SELECT ${COLUMNS} ${OF_STREAM} AND first_ms <= +? ORDER BY first_ms DESC LIMIT 1`,
    deviceId,
    stream,
    atMs,
  )
}

/** First block that begins after `atMs`. */
export function blockBeginningAfter(
  connection: Connection,
  deviceId: number,
  stream: TelemetryStream,
  atMs: number,
): BlockLocation | undefined {
  return connection.get(
    `SELECT ${COLUMNS} ${OF_STREAM} AND first_ms > +? ORDER BY first_ms LIMIT 1`,
    deviceId,
    stream,
    atMs,
  )
}

/** A block is damaged, or a newer program wrote it. */
export class UnreadableBlockError extends Error {
  readonly blockId: number
  readonly reason: UnreadableBlock['reason']

  constructor(blockId: number, reason: UnreadableBlock['reason'], cause?: unknown) {
    super(`block ${blockId} cannot be read: ${reason}`, { cause })
    this.blockId = blockId
    this.reason = reason
  }
}

/** Reads all records of a block. Throws `UnreadableBlockError`. */
export function readRecords<R extends Records>(connection: Connection, kind: RecordKind<R>, row: BlockLocation): R {
  try {
    const block = readBlock(connection, row.blockId)
    if (block === 'gone') throw new Error(`block ${row.blockId} is gone`)
    return decodeStoredBlock(kind, row, block)
  } catch (error) {
    if (!isUnreadable(error)) throw error
    throw new UnreadableBlockError(row.blockId, unreadableReason(error), error)
  }
}
