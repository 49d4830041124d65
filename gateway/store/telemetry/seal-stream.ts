import { encodeBlock, MAX_BLOCK_RECORDS } from '#shared/telemetry/block.ts'
import { mergeRecords, splitEvenly, splitIntoFullBlocks } from '#shared/telemetry/merge.ts'
import { indexAtOrAfter, type RecordKind, type Records } from '#shared/telemetry/records.ts'
import type { Connection } from '../db/connection.ts'
import {
  type BlockLocation,
  blockBeginningAfter,
  blockBeginningBy,
  newestBlocks,
  readRecords,
  UnreadableBlockError,
} from './block-rows.ts'
import type { BlockReplacement, NewBlock } from './blocks.ts'
import type { TimeRange } from './reader.ts'
import type { UnreadableBlock } from './unreadable-block.ts'

/** Short blocks at the end of a stream are merged above this number; halving sizes give eleven at most. */
export const MAX_SHORT_BLOCKS = 12
/** From this number on, late records between two blocks get their own; fewer are merged into an existing one. */
const OWN_BLOCK_RECORDS = MAX_BLOCK_RECORDS / 2

/**
 * Plans the moving of a device's records into the blocks of one stream. After the last block, short blocks at the end
 * are merged like a binary counter, so that a record is rewritten only as often as the number of short blocks halves.
 * Late records are merged into the block they belong to, which is split when it is full.
 */
export class StreamSealing<R extends Records> {
  readonly replacements: BlockReplacement[] = []
  /** Ranges of records that lie within a block of a later version and cannot be stored anywhere. */
  readonly stuck: TimeRange[] = []
  /** Blocks of a later version that could not be merged. */
  readonly newer: UnreadableBlock[] = []
  readonly #connection: Connection
  readonly #kind: RecordKind<R>
  readonly #deviceId: number

  constructor(connection: Connection, kind: RecordKind<R>, deviceId: number) {
    this.#connection = connection
    this.#kind = kind
    this.#deviceId = deviceId
  }

  /** Throws `UnreadableBlockError` if a damaged block must be merged: nothing of this stream can be sealed then. */
  plan(records: R): void {
    const { atMs } = records
    const count = atMs.length
    const newest = newestBlocks(this.#connection, this.#deviceId, this.#kind.name)
    const [last] = newest
    if (last === undefined) {
      this.#replace([], splitIntoFullBlocks(this.#kind, records))
      return
    }
    const appendedFrom = indexAtOrAfter(atMs, last.lastMs + 1)
    if (appendedFrom === count) {
      this.#planLate(records)
      return
    }
    const absorbed = this.#absorb(newest, count - appendedFrom)
    const [oldest] = absorbed
    let from = appendedFrom
    if (oldest !== undefined) {
      const isFirst = absorbed.length === newest.length && this.#isFirst(oldest.row)
      from = isFirst ? 0 : indexAtOrAfter(atMs, oldest.row.firstMs)
    }
    const appended = this.#kind.view(records, from, count)
    const kept = absorbed.map((one) => one.records)
    const merged =
      from === appendedFrom
        ? join(this.#kind, [...kept, appended])
        : mergeRecords(this.#kind, join(this.#kind, kept), appended)
    this.#replace(
      absorbed.map(({ row }) => row),
      splitIntoFullBlocks(this.#kind, merged),
    )
    this.#planLate(this.#kind.view(records, 0, from))
  }

  /** Blocks at the end that are merged with the appended records, oldest first. */
  #absorb(newest: readonly BlockLocation[], count: number): ReadBlock<R>[] {
    const firstFull = newest.findIndex((row) => row.count >= MAX_BLOCK_RECORDS)
    const short = firstFull < 0 ? newest : newest.slice(0, firstFull)
    const total = short.reduce((sum, row) => sum + row.count, count)
    const isAll = total >= MAX_BLOCK_RECORDS || short.length > MAX_SHORT_BLOCKS
    const absorbed: ReadBlock<R>[] = []
    let size = count
    for (const row of short) {
      if (!isAll && row.count > size) break
      const records = this.#readUnlessNewer(row)
      if (records === null) break
      size += row.count
      absorbed.unshift({ row, records })
    }
    return absorbed
  }

  #isFirst({ firstMs }: BlockLocation): boolean {
    return blockBeginningBy(this.#connection, this.#deviceId, this.#kind.name, firstMs - 1) === undefined
  }

  /** Plans records before the end of the last block: each goes to the block that begins before it, or the first. */
  #planLate(records: R): void {
    const { atMs } = records
    const ids = [this.#connection, this.#deviceId, this.#kind.name] as const
    let from = 0
    while (from < atMs.length) {
      const firstMs = atMs[from] ?? 0
      const home = blockBeginningBy(...ids, firstMs) ?? blockBeginningAfter(...ids, firstMs)
      if (home === undefined) throw new Error('late records without a block')
      const next = blockBeginningAfter(...ids, home.firstMs)
      const to = next === undefined ? atMs.length : indexAtOrAfter(atMs, next.firstMs, from)
      this.#placeLate(home, this.#kind.view(records, from, to))
      from = to
    }
  }

  /** Plans records that all lie between the blocks on both sides of `home`. */
  #placeLate(home: BlockLocation, records: R): void {
    const { atMs } = records
    const insideFrom = indexAtOrAfter(atMs, home.firstMs)
    const insideTo = indexAtOrAfter(atMs, home.lastMs + 1)
    const before = this.#kind.view(records, 0, insideFrom)
    const inside = this.#kind.view(records, insideFrom, insideTo)
    const behind = this.#kind.view(records, insideTo, atMs.length)
    const outer = [before, behind].filter((part) => part.atMs.length > 0)
    const own = outer.filter((part) => part.atMs.length >= OWN_BLOCK_RECORDS)
    for (const part of own) this.#replace([], splitEvenly(this.#kind, part))
    const few = outer.filter((part) => !own.includes(part))
    if (few.length === 0 && inside.atMs.length === 0) return
    const kept = this.#readUnlessNewer(home)
    if (kept === null) {
      for (const part of few) this.#replace([], splitEvenly(this.#kind, part))
      if (inside.atMs.length > 0) this.stuck.push({ fromMs: home.firstMs, toMs: home.lastMs })
      return
    }
    const late = [before, inside, behind].filter((part) => !own.includes(part))
    const merged = mergeRecords(this.#kind, kept, join(this.#kind, late))
    if (merged.atMs.length > kept.atMs.length) this.#replace([home], splitEvenly(this.#kind, merged))
  }

  #readUnlessNewer(row: BlockLocation): R | null {
    try {
      return readRecords(this.#connection, this.#kind, row)
    } catch (error) {
      if (!(error instanceof UnreadableBlockError) || error.reason !== 'newer_version') throw error
      this.newer.push({ blockId: row.blockId, reason: error.reason })
      return null
    }
  }

  /** Blocks outside the range of the removed ones do not depend on them and become replacements of their own. */
  #replace(removed: readonly BlockLocation[], parts: readonly R[]): void {
    const firstMs = removed[0]?.firstMs ?? Number.POSITIVE_INFINITY
    const lastMs = removed.at(-1)?.lastMs ?? Number.NEGATIVE_INFINITY
    const instead: NewBlock[] = []
    for (const part of parts) {
      const block = this.#encode(part)
      if (block.lastMs < firstMs || block.firstMs > lastMs) this.#push([], [block])
      else instead.push(block)
    }
    if (removed.length > 0) this.#push(removed, instead)
  }

  #push(removed: readonly BlockLocation[], adds: readonly NewBlock[]): void {
    const removes = removed.map(({ blockId }) => blockId)
    this.replacements.push({ deviceId: this.#deviceId, stream: this.#kind.name, removes, adds })
  }

  #encode(records: R): NewBlock {
    const { atMs } = records
    const count = atMs.length
    const bytes = encodeBlock(this.#kind, records)
    return { firstMs: atMs[0] ?? 0, lastMs: atMs[count - 1] ?? 0, count, records: bytes }
  }
}

interface ReadBlock<R extends Records> {
  row: BlockLocation
  records: R
}

function join<R extends Records>(kind: RecordKind<R>, parts: readonly R[]): R {
  const joined = kind.allocate(parts.reduce((sum, { atMs }) => sum + atMs.length, 0))
  const columns = kind.columnsOf(joined)
  let offset = 0
  for (const part of parts) {
    joined.atMs.set(part.atMs, offset)
    for (const [i, column] of kind.columnsOf(part).entries()) columns[i]?.set(column, offset)
    offset += part.atMs.length
  }
  return joined
}
