import type { TelemetryStream } from '../../shared/ids.ts'
import { encodeBlock } from '../../shared/telemetry-block.ts'
import {
  BATTERY,
  GPS,
  indexAtOrAfter,
  type RecordKind,
  type Records,
} from '../../shared/telemetry-records.ts'
import { uncountRecords } from './block-counts.ts'
import { insertBlock } from './blocks.ts'
import { CommittedBlocks } from './committed-blocks.ts'
import { deleteDamagedOf, deleteDamagedUntil } from './damaged-blocks.ts'
import { BLOCK_COLUMNS, type BlockRow, decodeStoredBlock } from './stored-block.ts'
import { isUnreadable, type UnreadableBlock, unreadableReason } from './unreadable-block.ts'
import type { WriterTables } from './writer-tables.ts'

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

export interface PurgeStep extends DeletionStep {
  /** Where the next step goes on: behind this stream. */
  after: BlockStream | null
  /** Blocks with older and newer records that could not be taken apart: they are left as they are. */
  unreadable: UnreadableBlock[]
}

/** Blocks deleted a step: some milliseconds. */
const STEP_BLOCKS = 64
/** A block that is decoded and written again takes as long as so many that only go. */
const REWRITE_COST = 8
/** Streams looked at in a step: most of them have nothing that old. */
const STEP_STREAMS = 500

/**
 * Deletes some of all records of before `beforeMs`, one device after the other. Only blocks that begin before and end
 * after it are read. Records of deleted devices, whose deletion is under way, are not counted: nobody could see them.
 */
export function purgeTelemetryStep(
  connection: WriterTables,
  { beforeMs, after = null }: { beforeMs: number; after?: BlockStream | null },
): PurgeStep {
  const step: PurgeStep = { gps: 0, battery: 0, damagedBlocks: 0, isDone: false, after, unreadable: [] }
  const committed = new CommittedBlocks(connection)
  try {
    return purgeSome(connection, committed, step, beforeMs)
  } finally {
    committed.close()
  }
}

function purgeSome(
  connection: WriterTables,
  committed: CommittedBlocks,
  step: PurgeStep,
  beforeMs: number,
): PurgeStep {
  let room = STEP_BLOCKS
  for (let looked = 0; looked < STEP_STREAMS && room > 0; looked++) {
    const of = nextStream(connection, step.after)
    if (of === undefined) {
      step.damagedBlocks = deleteDamagedUntil(connection, beforeMs, STEP_BLOCKS)
      step.isDone = step.damagedBlocks < STEP_BLOCKS
      return step
    }
    const purged = purgeStream(connection, committed, of, { beforeMs, room })
    if (purged.removed > 0 && uncountRecords(connection, of, purged.removed))
      step[of.stream] += purged.removed
    step.unreadable.push(...purged.unreadable)
    room -= purged.cost
    if (!purged.isDone) return step
    step.after = of
  }
  return step
}

/** Deletes some of a device's records, oldest first, and keeps its counts true. */
export function deleteDeviceTelemetryStep(
  connection: WriterTables,
  { deviceId, streams }: { deviceId: number; streams: readonly TelemetryStream[] },
): DeletionStep {
  const step: DeletionStep = { gps: 0, battery: 0, damagedBlocks: 0, isDone: true }
  for (const stream of streams) {
    const blocks = oldestBlocks(connection, { deviceId, stream }, Number.MAX_SAFE_INTEGER, STEP_BLOCKS)
    const damaged = deleteDamagedOf(connection, { deviceId, stream }, STEP_BLOCKS)
    const removed = deleteBlocks(connection, blocks)
    if (removed > 0) uncountRecords(connection, { deviceId, stream }, removed)
    step[stream] = removed
    step.damagedBlocks += damaged
    if (blocks.length === STEP_BLOCKS || damaged === STEP_BLOCKS) step.isDone = false
  }
  return step
}

/**
 * Deletes some of the telemetry of a deleted device. What it has in the log is not sealed into blocks any more. Returns
 * whether there is more to do.
 */
export function deleteTelemetryStep(connection: WriterTables): boolean {
  const deviceId = connection.get<{ id: number }>(
    'SELECT device_id AS id FROM telemetry_deletion LIMIT 1',
  )?.id
  if (deviceId === undefined) return false
  if (deleteDeviceTelemetryStep(connection, { deviceId, streams: ['gps', 'battery'] }).isDone)
    connection.run('DELETE FROM telemetry_deletion WHERE device_id = ?', deviceId)
  return true
}

function nextStream(connection: WriterTables, after: BlockStream | null): BlockStream | undefined {
  return connection.get<BlockStream>(
    `SELECT device_id AS deviceId, stream FROM telemetry_block WHERE (device_id, stream) > (?, ?)
     ORDER BY device_id, stream LIMIT 1`,
    after?.deviceId ?? -1,
    after?.stream ?? '',
  )
}

interface PurgedStream {
  removed: number
  cost: number
  isDone: boolean
  unreadable: UnreadableBlock[]
}

function purgeStream(
  connection: WriterTables,
  committed: CommittedBlocks,
  of: BlockStream,
  { beforeMs, room }: { beforeMs: number; room: number },
): PurgedStream {
  const blocks = oldestBlocks(connection, of, beforeMs, room + 1)
  const whole = blocks.filter(({ lastMs }) => lastMs < beforeMs).slice(0, room)
  const removed = deleteBlocks(connection, whole)
  const [next] = blocks.slice(whole.length)
  const purged = { removed, cost: whole.length, isDone: next === undefined, unreadable: [] }
  if (next === undefined || next.lastMs < beforeMs || purged.cost >= room) return purged
  // blocks do not overlap: this one is the last that begins before
  const cut = cutBlock(connection, committed, next, beforeMs)
  const cost = purged.cost + REWRITE_COST
  if (typeof cut !== 'number') return { removed, cost, isDone: true, unreadable: [cut] }
  return { ...purged, removed: removed + cut, cost, isDone: true }
}

/** The first blocks of a stream that begin before a time. Their records are not read: they lie on pages of their own. */
function oldestBlocks(
  connection: WriterTables,
  { deviceId, stream }: BlockStream,
  beforeMs: number,
  limit: number,
): BlockRow[] {
  // `+?`: SQLite would prepare it again for each stream, see block-rows.ts
  return connection.all<BlockRow>(
    `SELECT ${BLOCK_COLUMNS} FROM telemetry_block WHERE device_id = +? AND stream = +? AND first_ms < +?
     ORDER BY first_ms LIMIT +?`,
    ...[deviceId, stream, beforeMs, limit],
  )
}

/** Returns how many records they had. */
function deleteBlocks(connection: WriterTables, blocks: readonly BlockRow[]): number {
  let records = 0
  for (const { blockId, count } of blocks) {
    connection.run('DELETE FROM telemetry_block WHERE block_id = ?', blockId)
    records += count
  }
  return records
}

/** Takes the records of before `beforeMs` out of a block that has others. Returns how many, or why it cannot. */
function cutBlock(
  connection: WriterTables,
  committed: CommittedBlocks,
  row: BlockRow,
  beforeMs: number,
): number | UnreadableBlock {
  try {
    const records = committed.read(row.blockId)
    const kept =
      row.stream === 'gps'
        ? recordsFrom(GPS, row, records, beforeMs)
        : recordsFrom(BATTERY, row, records, beforeMs)
    deleteBlocks(connection, [row])
    const { firstMs, count, block } = kept
    insertBlock(connection, row, { firstMs, lastMs: row.lastMs, count, records: block })
    return row.count - kept.count
  } catch (error) {
    if (!isUnreadable(error)) throw error
    return { blockId: row.blockId, reason: unreadableReason(error) }
  }
}

function recordsFrom<R extends Records>(
  kind: RecordKind<R>,
  row: BlockRow,
  stored: Uint8Array,
  fromMs: number,
): { block: Uint8Array; count: number; firstMs: number } {
  const records = decodeStoredBlock(kind, row, stored)
  const kept = kind.view(records, indexAtOrAfter(records.atMs, fromMs), row.count)
  return { block: encodeBlock(kind, kept), count: kept.atMs.length, firstMs: kept.atMs[0] ?? row.lastMs }
}
