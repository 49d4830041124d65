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

/** A block, or a row of the log, that was put aside because it is not what was written. */
export interface DamagedBlock extends Omit<BlockRow, 'stream'> {
  stream: TelemetryStream | 'log'
  /** Null once its device is deleted, and of a row of the log. */
  hardwareId: string | null
  reason: DamageReason
  foundAtMs: number
}

export interface DamagedBlocks {
  blocks: number
  records: number
  /** Those found last, at most `SHOWN_BLOCKS`. */
  newest: DamagedBlock[]
}

export interface QuarantinedBlocks {
  moved: DamagedBlock[]
  /** Whole, but written by a newer program. */
  newer: number[]
  /** Intact blocks: a reader that found them damaged read wrongly. */
  intact: number[]
  /** How many older blocks of the quarantine were deleted to make room. */
  dropped: number
}

/** Kept for a repair, some 17 MB: if more are damaged, restore a backup instead. */
const MAX_DAMAGED_BLOCKS = 1000
/** The number of damaged blocks that the API shows. */
const SHOWN_BLOCKS = 20

/**
 * Puts the blocks aside that are really damaged; the rest stays. Their records count as not stored from then on, and a
 * device that sends them again is believed. At most some dozen ids at a time.
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
      putAside(connection, block, { ...verdict, nowMs })
      result.moved.push({ ...block, reason: verdict.reason, foundAtMs: nowMs })
    }
  }
  gaps.write('damage', nowMs)
  if (result.moved.length > 0) result.dropped = dropOldest(connection)
  return result
}

/**
 * What was put aside since the last repair: before that, what could be read was put back and the rest is gone for good.
 */
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
 * Notes that a repair has dealt with all that was put aside: no person can do more about it. The time of its discovery
 * is negative from then on. Answers still say of its ranges that records may be missing.
 */
export function settleDamagedBlocks(connection: Connection): void {
  connection.run('UPDATE damaged_block SET found_at_ms = -found_at_ms WHERE found_at_ms > 0')
}

/** Which damaged blocks are asked for; both bounds included. */
export interface DamagedRange {
  deviceIds: readonly number[]
  stream: TelemetryStream
  fromMs: number
  toMs: number
}

/** Where the last record of a block with an unreadable row may be at most: nobody knows. */
const UNKNOWN_SPAN_MS = 86_400_000

/** How many blocks that were put aside may have records of a range. */
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

/** Deletes up to `limit` of what was put aside and has only records of before `beforeMs`. Returns how many. */
export function deleteDamagedUntil(connection: WriterTables, beforeMs: number, limit: number): number {
  return connection.run(
    `DELETE FROM damaged_block
     WHERE block_id IN (SELECT block_id FROM damaged_block WHERE last_ms < ? LIMIT ?)`,
    beforeMs,
    limit,
  )
}

/** Deletes up to `limit` of what was put aside of a device's stream. Returns how many. */
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

/** Why a block cannot be read, and what of it can be kept. */
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

function putAside(connection: WriterTables, row: BlockRow, { reason, bytes, nowMs }: Damage & { nowMs: number }): void {
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
