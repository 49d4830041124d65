import type { PartLimits, StreamPart } from '#shared/sync-source.ts'
import { MAX_BLOCK_RECORDS, verifyBlock } from '#shared/telemetry/block.ts'
import { type DeviceBlock, encodeBlocks } from '#shared/telemetry/blocks.ts'
import { DamagedBlockError } from '#shared/telemetry/damaged-block.ts'
import type { Connection } from '../db/connection.ts'
import { partBound } from '../ledger/erase-marks.ts'
import type { ReaderTools } from '../telemetry/reader-tools.ts'
import { BLOCK_COLUMNS, type BlockRow } from '../telemetry/stored-block.ts'
import { isUnreadable, readBlock, type UnreadableBlock, unreadableReason } from '../telemetry/unreadable-block.ts'

/** Batch of blocks from the block log; null if nothing may be sent. */
export interface HistoryPart {
  readonly part: StreamPart | null
  /** Damaged block that comes next: it must be quarantined before later blocks are sent. */
  readonly damaged: UnreadableBlock | null
  /** Skipped blocks that a newer program wrote. */
  readonly newer: readonly UnreadableBlock[]
}

interface Entry {
  seq: number
  blockId: number
}

/** Entries checked in one job: most may belong to deleted devices. */
const MAX_ENTRIES = 2048
/** Maximum size of a block's header: shared/telemetry-blocks.ts. */
export const BLOCK_HEAD_BYTES = 80

/** Next blocks of the block log after a position, with their stored bytes. */
export function nextHistoryPart(
  { connection }: ReaderTools,
  { after, limits }: { after: number; limits: PartLimits },
): HistoryPart {
  const entries = connection.db.transaction(() => entriesAfter(connection, after)).deferred()
  const part = new BlocksPart(limits)
  const newer: UnreadableBlock[] = []
  for (const { seq, blockId } of entries) {
    try {
      const found = readEntry(connection, blockId)
      // deleted since: its replacement has an entry of its own
      if (found === null) part.skip(seq)
      else if (!part.add(seq, found)) break
    } catch (error) {
      if (!isUnreadable(error)) throw error
      const unreadable = { blockId, reason: unreadableReason(error) }
      if (error instanceof DamagedBlockError) return { part: part.finish(), damaged: unreadable, newer }
      newer.push(unreadable)
      part.skip(seq)
    }
  }
  return { part: part.finish(), damaged: null, newer }
}

function entriesAfter(connection: Connection, after: number): Entry[] {
  const bound = partBound(connection, 'history', after)
  if (bound === null) return []
  return connection.all<Entry>(
    // `+?`: see block-rows.ts
    `SELECT seq, block_id FROM block_log
     WHERE seq > +? AND seq <= +? ORDER BY seq LIMIT ${MAX_ENTRIES}`,
    after,
    bound,
  )
}

type FoundBlock = DeviceBlock & Pick<BlockRow, 'count' | 'firstMs'>

/** Null if the block or its device was deleted. Throws like `verifyBlock`, also if the row contradicts its block. */
function readEntry(connection: Connection, blockId: number): FoundBlock | null {
  const row = connection.get<BlockRow & { hardwareId: string }>(
    `SELECT ${BLOCK_COLUMNS}, (SELECT hardware_id FROM device d WHERE d.device_id = b.device_id) AS hardwareId
     FROM stored_block b WHERE block_id = ?`,
    blockId,
  )
  if (row === undefined || row.hardwareId === null) return null
  const block = readBlock(connection, blockId)
  if (block === 'gone') return null
  const { kind, count, firstMs, lastMs } = verifyBlock(block)
  const isAsRecorded = kind === row.stream && count === row.count && firstMs === row.firstMs && lastMs === row.lastMs
  if (!isAsRecorded || count > MAX_BLOCK_RECORDS) {
    throw new DamagedBlockError('impossible_content', 'its content does not match its row')
  }
  return { hardwareId: row.hardwareId, block, count, firstMs }
}

class BlocksPart {
  readonly #limits: PartLimits
  readonly #blocks: DeviceBlock[] = []
  #bytes = 0
  #count = 0
  #to: number | null = null
  #oldestMs = Number.POSITIVE_INFINITY

  constructor(limits: PartLimits) {
    this.#limits = limits
  }

  /** False if the batch has no space for it. */
  add(seq: number, { hardwareId, block, count, firstMs }: FoundBlock): boolean {
    const bytes = BLOCK_HEAD_BYTES + block.length
    const isFull = this.#bytes + bytes > this.#limits.bytes || this.#count + count > this.#limits.rows
    if (isFull && this.#blocks.length > 0) return false
    this.#blocks.push({ hardwareId, block })
    this.#bytes += bytes
    this.#count += count
    this.#oldestMs = Math.min(this.#oldestMs, firstMs)
    this.#to = seq
    return true
  }

  skip(seq: number): void {
    this.#to = seq
  }

  finish(): StreamPart | null {
    if (this.#to === null) return null
    const oldestMs = this.#count === 0 ? null : this.#oldestMs
    const data = encodeBlocks(this.#blocks)
    return { to: this.#to, count: this.#count, encoding: 'blocks-1', data, oldestMs }
  }
}
