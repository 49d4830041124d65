import type { TelemetryStream } from '#shared/ids.ts'
import { DamagedBlockError, type DamageReason, NewerBlockError } from '#shared/telemetry/damaged-block.ts'
import { BATTERY, GPS } from '#shared/telemetry/records.ts'
import { write } from '../db/audit.ts'
import type { Connection } from '../db/connection.ts'
import { Gaps, isLogged } from '../ledger/gaps.ts'
import { decrementRecordCounts } from './block-counts.ts'
import { CommittedBlocks } from './committed-blocks.ts'
import { removeBlock } from './detached-blocks.ts'
import type { WriterTables } from './log-tail.ts'
import { BLOCK_COLUMNS, type BlockRow, decodeStoredBlock } from './stored-block.ts'

/** Quarantined block, or quarantined row of the log: its content is not what was written. */
export interface DamagedBlock extends Omit<BlockRow, 'stream'> {
  stream: TelemetryStream | 'log'
  /** Null if the device was deleted, and for a row of the log. */
  hardwareId: string | null
  reason: DamageReason
  foundAtMs: number
}

export interface DamagedBlocks {
  blocks: number
  records: number
  /** The last ones found, at most `SHOWN_BLOCKS`. */
  newest: DamagedBlock[]
}

export interface QuarantinedBlocks {
  moved: DamagedBlock[]
  /** Intact blocks that a newer program wrote. */
  newer: number[]
  /** Intact blocks that a reader reported as damaged after a read error. */
  intact: number[]
  /** Number of older quarantined blocks that were deleted to make room. */
  dropped: number
}

/** Maximum kept for a repair, some 17 MB; with more damage, restore a backup instead. */
const MAX_DAMAGED_BLOCKS = 1000
/** Number of damaged blocks that the API returns. */
const SHOWN_BLOCKS = 20

/**
 * Quarantines those of the blocks that are really damaged. Their records count as not stored from then on, so that
 * records that a device sends again are accepted. Takes at most some dozen ids at a time.
 */
export const quarantineBlocks = write(
  (
    connection: WriterTables,
    { blockIds, nowMs }: { blockIds: readonly number[]; nowMs: number },
  ): QuarantinedBlocks => {
    const committed = new CommittedBlocks(connection)
    try {
      return quarantineSome(connection, committed, blockIds, nowMs)
    } finally {
      committed.close()
    }
  },
  { audit: null, changesTelemetry: true },
)

function quarantineSome(
  connection: WriterTables,
  committed: CommittedBlocks,
  blockIds: readonly number[],
  nowMs: number,
): QuarantinedBlocks {
  const gaps = new Gaps(connection)
  const result: QuarantinedBlocks = { moved: [], newer: [], intact: [], dropped: 0 }
  for (const blockId of blockIds) {
    const block = connection.get<BlockRow & { hardwareId: string | null }>(
      `SELECT ${BLOCK_COLUMNS}, (SELECT hardware_id FROM device d WHERE d.device_id = b.device_id) AS hardwareId
       FROM stored_block b WHERE block_id = ?`,
      blockId,
    )
    if (block === undefined) continue
    const verdict = judge(committed, block)
    if (verdict === 'newer') result.newer.push(blockId)
    else if (verdict === 'intact') result.intact.push(blockId)
    else {
      if (isLogged(connection, blockId)) gaps.add(block)
      quarantine(connection, block, { ...verdict, nowMs })
      result.moved.push({ ...block, reason: verdict.reason, foundAtMs: nowMs })
    }
  }
  gaps.write('damage', nowMs)
  if (result.moved.length > 0) result.dropped = dropOldest(connection)
  return result
}

/** Blocks quarantined since the last repair, which restored the readable ones; the rest is lost. */
export function damagedBlocks(connection: Connection): DamagedBlocks {
  const total = connection.get<{ blocks: number; records: number }>(
    'SELECT count(*) AS blocks, ifnull(sum(count), 0) AS records FROM damaged_block WHERE found_at_ms >= 0',
  )
  const newest = connection.all<DamagedBlock>(
    `SELECT ${BLOCK_COLUMNS}, reason, found_at_ms,
       (SELECT hardware_id FROM device d WHERE d.device_id = b.device_id) AS hardwareId
     FROM damaged_block b WHERE found_at_ms >= 0
     ORDER BY found_at_ms DESC, block_id DESC LIMIT ${SHOWN_BLOCKS}`,
  )
  return { blocks: total?.blocks ?? 0, records: total?.records ?? 0, newest }
}

/**
 * Marks all quarantined blocks as dealt with after a repair, because staff can do no more about them: their time of
 * discovery becomes negative. Responses still report that records of their ranges may be missing.
 */
export function settleDamagedBlocks(connection: Connection): void {
  connection.run('UPDATE damaged_block SET found_at_ms = -found_at_ms WHERE found_at_ms > 0')
}

/** Range of damaged blocks to find; both bounds included. */
export interface DamagedRange {
  deviceIds: readonly number[]
  stream: TelemetryStream
  fromMs: number
  toMs: number
}

/** Assumed maximum distance of the last record from the first in a block with an unreadable row. */
const UNKNOWN_SPAN_MS = 86_400_000

/** Number of quarantined blocks that may have records of a range. */
export function damagedBlocksIn(connection: Connection, { deviceIds, stream, fromMs, toMs }: DamagedRange): number {
  const found = connection.get<{ blocks: number }>(
    `SELECT count(*) AS blocks FROM damaged_block
     WHERE stream = ? AND first_ms <= ? AND last_ms + iif(reason = 'unreadable_page', ${UNKNOWN_SPAN_MS}, 0) >= ?
       AND device_id IN (SELECT value FROM json_each(?))`,
    stream,
    toMs,
    fromMs,
    JSON.stringify(deviceIds),
  )
  return found?.blocks ?? 0
}

/** Deletes up to `limit` quarantined blocks whose records are all older than `beforeMs`. Returns their number. */
export function deleteDamagedUntil(connection: WriterTables, beforeMs: number, limit: number): number {
  return connection.run(
    `DELETE FROM damaged_block
     WHERE block_id IN (SELECT block_id FROM damaged_block WHERE last_ms < ? LIMIT ?)`,
    beforeMs,
    limit,
  )
}

/** Deletes up to `limit` quarantined blocks of a device's stream. Returns their number. */
export function deleteDamagedOf(
  connection: WriterTables,
  { deviceId, stream }: { deviceId: number; stream: TelemetryStream },
  limit: number,
): number {
  return connection.run(
    `DELETE FROM damaged_block
     WHERE block_id IN (SELECT block_id FROM damaged_block WHERE device_id = ? AND stream = ? LIMIT ?)`,
    deviceId,
    stream,
    limit,
  )
}

/** Reason why a block is unreadable, and the bytes that can be kept. */
interface Damage {
  reason: DamageReason
  bytes: Uint8Array
}

function judge(committed: CommittedBlocks, row: BlockRow): Damage | 'newer' | 'intact' {
  let bytes: Uint8Array = new Uint8Array()
  try {
    bytes = committed.read(row.blockId)
    if (row.stream === 'gps') decodeStoredBlock(GPS, row, bytes)
    else decodeStoredBlock(BATTERY, row, bytes)
    return 'intact'
  } catch (error) {
    if (error instanceof NewerBlockError) return 'newer'
    if (error instanceof DamagedBlockError) return { reason: error.reason, bytes }
    throw error
  }
}

function quarantine(
  connection: WriterTables,
  row: BlockRow,
  { reason, bytes, nowMs }: Damage & { nowMs: number },
): void {
  const { blockId, deviceId, stream, firstMs, lastMs, count } = row
  connection.run(
    `INSERT INTO damaged_block
       (block_id, device_id, stream, first_ms, last_ms, count, reason, found_at_ms, records)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    blockId,
    deviceId,
    stream,
    firstMs,
    lastMs,
    count,
    reason,
    nowMs,
    bytes,
  )
  removeBlock(connection, blockId)
  decrementRecordCounts(connection, row, count)
}

function dropOldest(connection: WriterTables): number {
  const blocks = connection.get<{ n: number }>('SELECT count(*) AS n FROM damaged_block')?.n ?? 0
  if (blocks <= MAX_DAMAGED_BLOCKS) return 0
  return connection.run(
    `DELETE FROM damaged_block
     WHERE block_id IN (SELECT block_id FROM damaged_block ORDER BY found_at_ms, block_id LIMIT ?)`,
    blocks - MAX_DAMAGED_BLOCKS,
  )
}
