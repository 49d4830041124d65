import type { TelemetryStream } from '#shared/ids.ts'
import { encodeBlock } from '#shared/telemetry/block.ts'
import { BATTERY, GPS, indexAtOrAfter, type RecordKind, type Records } from '#shared/telemetry/records.ts'
import { event, write } from '../db/audit.ts'
import { Gaps, logBlock } from '../ledger/gaps.ts'
import { decrementRecordCounts } from './block-counts.ts'
import { insertBlock, type NewBlock } from './blocks.ts'
import { CommittedBlocks } from './committed-blocks.ts'
import { deleteDamagedOf, deleteDamagedUntil } from './damaged-blocks.ts'
import { removeBlock } from './detached-blocks.ts'
import type { WriterTables } from './log-tail.ts'
import { BLOCK_COLUMNS, type BlockRow, decodeStoredBlock } from './stored-block.ts'
import { isUnreadable, type UnreadableBlock, unreadableReason } from './unreadable-block.ts'

export interface DeletedRecords {
  gps: number
  battery: number
}

export interface DeletionStep extends DeletedRecords {
  /** Number of damaged blocks deleted as well; their records were no longer counted. */
  damagedBlocks: number
  /** True if nothing was left to delete when the step committed. */
  isDone: boolean
}

/** All blocks of a device's stream. */
export interface BlockStream {
  deviceId: number
  stream: TelemetryStream
}

/** Position of a purge: it is done with all streams up to and including this one. */
export interface PurgePosition extends BlockStream {
  /** Set if only the blocks of this stream that begin up to here are done. */
  throughMs?: number
}

/** Records to delete, and the reason to record. */
export interface PurgeRequest {
  readonly beforeMs: number
  /** End of the previous step; null for the first one. */
  readonly after?: PurgePosition | null
  readonly nowMs: number
  /** Reason in the note for the hub about deleted records that it did not have. */
  readonly reason?: 'purge' | 'disk'
  /** Keeps blocks that were not sent to the hub yet. */
  readonly keepsUnsent?: boolean
}

export interface PurgeStep extends DeletionStep {
  /** Start of the next step. */
  after: PurgePosition | null
  /** Blocks across the cutoff that could not be split and are left unchanged. */
  unreadable: UnreadableBlock[]
}

/** Blocks deleted in one step, which takes some milliseconds. */
const STEP_BLOCKS = 64
/** Cost of decoding and rewriting a block, in deleted blocks. */
const REWRITE_COST = 8
/** Number of kept blocks that cost as much as one deleted block. */
const KEPT_A_COST = 8
/** Streams visited in one step: most of them have no records that old. */
const STEP_STREAMS = 500

/**
 * Deletes some records from before `beforeMs`, one device after the other. Reads only the blocks that span the cutoff.
 * Does not count records of deleted devices, whose deletion is in progress: no request could reach them.
 */
export const purgeTelemetryStep = write(
  (connection: WriterTables, request: PurgeRequest): PurgeStep => {
    const { after = null, nowMs, reason = 'purge' } = request
    const step: PurgeStep = { gps: 0, battery: 0, damagedBlocks: 0, isDone: false, after, unreadable: [] }
    const committed = new CommittedBlocks(connection)
    const gaps = new Gaps(connection)
    try {
      purgeSome({ connection, committed, gaps }, step, request)
      gaps.write(reason, nowMs)
      return step
    } finally {
      committed.close()
    }
  },
  {
    // only the first step of a requested purge has an entry
    audit:
      (_, { beforeMs, after }, { userId }) =>
      () =>
        userId === null || after !== null ? [] : [event('telemetry.purged', 'all', { before_ms: beforeMs })],
    changesTelemetry: true,
  },
)

interface Purging {
  readonly connection: WriterTables
  readonly committed: CommittedBlocks
  readonly gaps: Gaps
}

function purgeSome(purging: Purging, step: PurgeStep, request: PurgeRequest): void {
  const { connection } = purging
  let room = STEP_BLOCKS
  for (let examined = 0; examined < STEP_STREAMS && room > 0; examined++) {
    const position = nextPosition(connection, step.after)
    if (position === undefined) {
      step.damagedBlocks = deleteDamagedUntil(connection, request.beforeMs, STEP_BLOCKS)
      step.isDone = step.damagedBlocks < STEP_BLOCKS
      return
    }
    const { deviceId, stream } = position
    const purged = purgeStream(purging, position, request, room)
    if (purged.removed > 0 && decrementRecordCounts(connection, position, purged.removed))
      step[stream] += purged.removed
    step.unreadable.push(...purged.unreadable)
    room -= purged.cost
    if (purged.throughMs !== null) {
      step.after = { deviceId, stream, throughMs: purged.throughMs }
      return
    }
    step.after = { deviceId, stream }
  }
}

/** Deletes some of a device's records, oldest first, and updates its counts. */
export const deleteDeviceTelemetryStep = write(
  (
    connection: WriterTables,
    { deviceId, streams }: { deviceId: number; streams: readonly TelemetryStream[] },
  ): DeletionStep => {
    const step: DeletionStep = { gps: 0, battery: 0, damagedBlocks: 0, isDone: true }
    for (const stream of streams) {
      const blocks = oldestBlocks(connection, { deviceId, stream }, STEP_BLOCKS)
      const damaged = deleteDamagedOf(connection, { deviceId, stream }, STEP_BLOCKS)
      const removed = deleteBlocks(connection, blocks)
      if (removed > 0) decrementRecordCounts(connection, { deviceId, stream }, removed)
      step[stream] = removed
      step.damagedBlocks += damaged
      if (blocks.length === STEP_BLOCKS || damaged === STEP_BLOCKS) step.isDone = false
    }
    return step
  },
  { audit: null, changesTelemetry: true },
)

/** Deletes some telemetry of a deleted device, whose samples are not sealed any more. Returns true if more is left. */
export const deleteTelemetryStep = write(
  (connection: WriterTables): boolean => {
    const deviceId = connection.get<{ id: number }>('SELECT device_id AS id FROM telemetry_deletion LIMIT 1')?.id
    if (deviceId === undefined) return false
    if (deleteDeviceTelemetryStep(connection, { deviceId, streams: ['gps', 'battery'] }).isDone)
      connection.run('DELETE FROM telemetry_deletion WHERE device_id = ?', deviceId)
    return true
  },
  { audit: null, changesTelemetry: true },
)

/** Position of the next step: within an unfinished stream, or at the beginning of the next one. */
function nextPosition(connection: WriterTables, after: PurgePosition | null): Required<PurgePosition> | undefined {
  if (after?.throughMs !== undefined) return { ...after, throughMs: after.throughMs }
  const next = connection.get<BlockStream>(
    `SELECT device_id, stream FROM stored_block WHERE (device_id, stream) > (?, ?)
     ORDER BY device_id, stream LIMIT 1`,
    after?.deviceId ?? -1,
    after?.stream ?? '',
  )
  return next && { ...next, throughMs: Number.MIN_SAFE_INTEGER }
}

interface PurgedStream {
  removed: number
  cost: number
  /** Start of the last block it handled; null if the stream is done. */
  throughMs: number | null
  unreadable: UnreadableBlock[]
}

function purgeStream(
  purging: Purging,
  position: Required<PurgePosition>,
  { beforeMs, keepsUnsent = false }: PurgeRequest,
  room: number,
): PurgedStream {
  const purged: PurgedStream = { removed: 0, cost: 0, throughMs: position.throughMs, unreadable: [] }
  const limit = Math.ceil(room) * (keepsUnsent ? KEPT_A_COST : 1) + 1
  const blocks = purgedBlocks(purging.connection, position, beforeMs, limit)
  for (const block of blocks) {
    if (purged.cost >= room) return purged
    if (keepsUnsent && block.isUnsent) purged.cost += 1 / KEPT_A_COST
    else if (block.lastMs < beforeMs) deleteWhole(purging, block, purged)
    else cutBlock(purging, block, beforeMs, purged)
    purged.throughMs = block.firstMs
  }
  return blocks.length < limit ? { ...purged, throughMs: null } : purged
}

function deleteWhole({ connection, gaps }: Purging, block: PurgedBlock, purged: PurgedStream): void {
  if (block.isUnsent) gaps.add(block)
  purged.removed += deleteBlocks(connection, [block])
  purged.cost++
}

interface PurgedBlock extends BlockRow {
  /** 1 if the block has not been sent to the hub yet. */
  isUnsent: number
}

/** Blocks of a stream that begin before a time and after the position. */
function purgedBlocks(
  connection: WriterTables,
  { deviceId, stream, throughMs }: Required<PurgePosition>,
  beforeMs: number,
  limit: number,
): PurgedBlock[] {
  // `+?`: otherwise SQLite would prepare the statement again for each stream, see block-rows.ts
  return connection.all<PurgedBlock>(
    `SELECT ${BLOCK_COLUMNS}, EXISTS (SELECT 1 FROM block_log l WHERE l.block_id = b.block_id) AS isUnsent
     FROM stored_block b WHERE device_id = +? AND stream = +? AND first_ms > +? AND first_ms < +?
     ORDER BY first_ms LIMIT +?`,
    deviceId,
    stream,
    throughMs,
    beforeMs,
    limit,
  )
}

/** First blocks of a stream. Does not read their records, which are on pages of their own. */
function oldestBlocks(connection: WriterTables, { deviceId, stream }: BlockStream, limit: number): BlockRow[] {
  // `+?`: as above
  return connection.all<BlockRow>(
    `SELECT ${BLOCK_COLUMNS} FROM stored_block WHERE device_id = +? AND stream = +?
     ORDER BY first_ms LIMIT +?`,
    deviceId,
    stream,
    limit,
  )
}

/** Returns the number of their records. */
function deleteBlocks(connection: WriterTables, blocks: readonly BlockRow[]): number {
  let records = 0
  for (const { blockId, count } of blocks) {
    removeBlock(connection, blockId)
    records += count
  }
  return records
}

/** Removes the records from before `beforeMs` from a block that also has later ones, or returns why it cannot. */
function cutBlock(
  { connection, committed, gaps }: Purging,
  row: PurgedBlock,
  beforeMs: number,
  purged: PurgedStream,
): void {
  purged.cost += REWRITE_COST
  try {
    const records = committed.read(row.blockId)
    const cut =
      row.stream === 'gps' ? cutRecords(GPS, row, records, beforeMs) : cutRecords(BATTERY, row, records, beforeMs)
    deleteBlocks(connection, [row])
    const blockId = insertBlock(connection, row, cut.kept)
    const count = row.count - cut.kept.count
    if (row.isUnsent) {
      logBlock(connection, blockId)
      gaps.add({ ...row, lastMs: cut.lastMs, count })
    }
    purged.removed += count
  } catch (error) {
    if (!isUnreadable(error)) throw error
    purged.unreadable.push({ blockId: row.blockId, reason: unreadableReason(error) })
  }
}

/** Remaining records of a block, and the time of the last removed record. */
function cutRecords<R extends Records>(
  kind: RecordKind<R>,
  row: BlockRow,
  stored: Uint8Array,
  fromMs: number,
): { kept: NewBlock; lastMs: number } {
  const records = decodeStoredBlock(kind, row, stored)
  const from = indexAtOrAfter(records.atMs, fromMs)
  const kept = kind.view(records, from, row.count)
  const { lastMs } = row
  const firstMs = kept.atMs[0] ?? lastMs
  return {
    kept: { firstMs, lastMs, count: kept.atMs.length, records: encodeBlock(kind, kept) },
    lastMs: records.atMs[from - 1] ?? row.firstMs,
  }
}
