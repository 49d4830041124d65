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
  /** Damaged blocks that went as well; their records were not counted any more. */
  damagedBlocks: number
  /** At its commit there was nothing left to delete. */
  isDone: boolean
}

/** All blocks of one device of one kind. */
export interface BlockStream {
  deviceId: number
  stream: TelemetryStream
}

/** How far a purge has come: through with all streams up to this one. */
export interface PurgePosition extends BlockStream {
  /** Of this one, only with the blocks that begin up to here. */
  throughMs?: number
}

/** What is to be deleted, and what has to be said of it. */
export interface PurgeRequest {
  readonly beforeMs: number
  /** Where the step before ended; null for the first. */
  readonly after?: PurgePosition | null
  readonly nowMs: number
  /** The note for the hub of deleted records that it still lacked. */
  readonly reason?: 'purge' | 'disk'
  /** Blocks that a head office is still to get are left alone. */
  readonly keepsUnsent?: boolean
}

export interface PurgeStep extends DeletionStep {
  /** Where the next step goes on. */
  after: PurgePosition | null
  /** Blocks with older and newer records that could not be taken apart: they are left as they are. */
  unreadable: UnreadableBlock[]
}

/** Blocks deleted a step: some milliseconds. */
const STEP_BLOCKS = 64
/** A block that is decoded and written again takes as long as so many that only go. */
const REWRITE_COST = 8
/** So many blocks that are left alone take as long as one that goes. */
const KEPT_A_COST = 8
/** Streams looked at in a step: most of them have nothing that old. */
const STEP_STREAMS = 500

/**
 * Deletes some of all records of before `beforeMs`, one device after the other. Only blocks that begin before and end
 * after it are read. Records of deleted devices, whose deletion is under way, are not counted: nobody could see them.
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
    // the first step of those that somebody asked for
    audit:
      (_, { beforeMs, after }, { userId }) =>
      () =>
        userId === null || after !== null ? [] : [event('telemetry.purged', 'all', { before_ms: beforeMs })],
    changesTelemetry: true,
  },
)

/** What a step works with. */
interface Purging {
  readonly connection: WriterTables
  readonly committed: CommittedBlocks
  readonly gaps: Gaps
}

function purgeSome(purging: Purging, step: PurgeStep, request: PurgeRequest): void {
  const { connection } = purging
  let room = STEP_BLOCKS
  for (let looked = 0; looked < STEP_STREAMS && room > 0; looked++) {
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

/** Deletes some of a device's records, oldest first, and keeps its counts true. */
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

/**
 * Deletes some of the telemetry of a deleted device. What it has in the log is not sealed into blocks any more. Returns
 * whether there is more to do.
 */
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

/** Where to go on: in the stream that is not done, or at the beginning of the next. */
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
  /** Up to which beginning of a block it came; null when the stream is done. */
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
  /** 1 when a head office is still to get it. */
  isUnsent: number
}

/** Blocks of a stream that begin before a time, behind the position. */
function purgedBlocks(
  connection: WriterTables,
  { deviceId, stream, throughMs }: Required<PurgePosition>,
  beforeMs: number,
  limit: number,
): PurgedBlock[] {
  // `+?`: SQLite would prepare it again for each stream, see block-rows.ts
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

/** The first blocks of a stream. Their records are not read: they lie on pages of their own. */
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

/** Returns how many records they had. */
function deleteBlocks(connection: WriterTables, blocks: readonly BlockRow[]): number {
  let records = 0
  for (const { blockId, count } of blocks) {
    removeBlock(connection, blockId)
    records += count
  }
  return records
}

/** Takes the records of before `beforeMs` out of a block that has others, or says why it cannot. */
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

/** What stays of a block, and when the last record was measured that does not. */
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
