import { decodeBlock, decodeBlockRange, MAX_BLOCK_RECORDS } from '#shared/telemetry/block.ts'
import { mergeRecords } from '#shared/telemetry/merge.ts'
import { indexAtOrAfter, type RecordKind, type Records } from '#shared/telemetry/records.ts'
import type { Connection } from '../db/connection.ts'
import { isBroken, storeFaultCode } from '../db/fault.ts'
import { LoggedSamples } from './logged-samples.ts'
import { isUnreadable, readBlock, readBlockRow, type UnreadableBlock, unreadableReason } from './unreadable-block.ts'

/** Range of records; both bounds included, in milliseconds since 1970. */
export interface TimeRange {
  readonly fromMs: number
  readonly toMs: number
}

interface OrderedRange extends TimeRange {
  readonly order: 'asc' | 'desc'
}

/** Locations of the records of a range. */
interface Selection<R extends Records> {
  blocks: { blockId: number; count: number }[]
  logged: R
  /** Upper bound of the number of records. */
  room: number
}

interface BlockPlace {
  blockId: number
  firstMs: number
}

// `+?`: see block-rows.ts
/** First block that can overlap a range: the last one that begins at or before its start. */
const HOME = `first_ms >= ifnull((SELECT max(first_ms) FROM stored_block
  WHERE device_id = +? AND stream = +? AND first_ms <= +?), -1)`
const BLOCK_PLACE = 'SELECT block_id AS blockId, first_ms AS firstMs'
const IN_RANGE = `FROM stored_block WHERE device_id = +? AND stream = +? AND ${HOME} AND first_ms <= +?`

/** Blocks disappear during a read only if late records are sealed or old ones deleted; the last try is a snapshot. */
const MAX_ATTEMPTS = 3

/** Reads the records of a device from blocks, the log, or both during a move. One for each connection. */
export class TelemetryReader {
  readonly #connection: Connection
  readonly #logged: LoggedSamples
  #unreadable: UnreadableBlock[] = []
  /** Last block of a page: mostly the first block of the next one. */
  #last: { blockId: number; records: Records } | undefined

  constructor(connection: Connection) {
    this.#connection = connection
    this.#logged = new LoggedSamples(connection)
  }

  /** Upper bound of the number of records in the range: blocks that overlap it only in part count completely. */
  countAtMost<R extends Records>(kind: RecordKind<R>, deviceId: number, range: TimeRange): number {
    return this.#roundDamage((isDamaged) => this.#snapshot(() => this.#select(kind, deviceId, range, isDamaged))).room
  }

  /**
   * Reads all records of the range, oldest first, into columns of `makeRoom`, without a snapshot, which would delay
   * checkpoints and thus writers. Blocks never change: if the initial ones still exist, the result is their state.
   */
  read<R extends Records>(
    kind: RecordKind<R>,
    deviceId: number,
    range: TimeRange,
    makeRoom: (count: number) => R,
  ): { records: R; count: number } {
    return this.#roundDamage((isDamaged) => this.#read(kind, deviceId, range, makeRoom, isDamaged))
  }

  #read<R extends Records>(
    kind: RecordKind<R>,
    deviceId: number,
    range: TimeRange,
    makeRoom: (count: number) => R,
    isDamaged: boolean,
  ): { records: R; count: number } {
    const select = () => this.#select(kind, deviceId, range, isDamaged)
    const read = (selection: Selection<R>) => {
      const records = makeRoom(selection.room)
      const count = this.#readInto(kind, selection, range, records)
      return count === undefined ? undefined : { records, count }
    }
    for (let attempts = 1; attempts < MAX_ATTEMPTS; attempts++) {
      const found = read(this.#snapshot(select))
      if (found !== undefined) return found
    }
    const found = this.#snapshot(() => read(select()))
    if (found === undefined) throw new Error('a block disappeared during a snapshot')
    return found
  }

  /** Up to `limit` records from the beginning (`asc`) or the end (`desc`) of the range; oldest first in both cases. */
  page<R extends Records>(
    kind: RecordKind<R>,
    deviceId: number,
    { fromMs, toMs, order, limit }: OrderedRange & { readonly limit: number },
  ): R {
    return this.#roundDamage((isDamaged) =>
      this.#snapshot(() => this.#page(kind, deviceId, { fromMs, toMs, order, limit }, isDamaged)),
    )
  }

  /** Repeats the work if a page was damaged, using the index and single blocks instead. */
  #roundDamage<Result>(work: (isDamaged: boolean) => Result): Result {
    try {
      return work(false)
    } catch (error) {
      if (!isBroken(storeFaultCode(error))) throw error
      return work(true)
    }
  }

  #page<R extends Records>(
    kind: RecordKind<R>,
    deviceId: number,
    { fromMs, toMs, order, limit }: OrderedRange & { readonly limit: number },
    isDamaged: boolean,
  ): R {
    let found = this.#logged.records(kind, deviceId, { fromMs, toMs, order, limit })
    let count = 0
    const blocks = isDamaged
      ? this.#reachable(kind, deviceId, { fromMs, toMs, order })
      : this.#blocks(kind, deviceId, { fromMs, toMs, order })
    for (const block of blocks) {
      const records = this.#block(kind, block.blockId)
      if (records !== undefined) {
        let from = indexAtOrAfter(records.atMs, fromMs)
        let to = indexAtOrAfter(records.atMs, toMs + 1)
        if (order === 'asc') to = Math.min(to, from + limit - count)
        else from = Math.max(from, to - (limit - count))
        if (from < to) {
          count += to - from
          found = mergeRecords(kind, kind.view(records, from, to), found)
        }
      }
      if (count >= limit) break
    }
    const { length } = found.atMs
    return order === 'asc'
      ? kind.view(found, 0, Math.min(limit, length))
      : kind.view(found, Math.max(0, length - limit), length)
  }

  /** Midnights (UTC) of the days with records in the log. */
  loggedDays(stream: 'gps' | 'battery'): number[] {
    return this.#snapshot(() => this.#logged.days(stream))
  }

  /** Returns and clears the blocks that could not be read; everything else was read. */
  takeUnreadable(): UnreadableBlock[] {
    const found = this.#unreadable
    this.#unreadable = []
    return found
  }

  #snapshot<Result>(work: () => Result): Result {
    return this.#connection.snapshot(() => {
      this.#logged.refresh()
      return work()
    })
  }

  #select<R extends Records>(
    kind: RecordKind<R>,
    deviceId: number,
    range: TimeRange,
    isDamaged: boolean,
  ): Selection<R> {
    const { fromMs, toMs } = range
    const blocks = isDamaged
      ? this.#reachable(kind, deviceId, { ...range, order: 'asc' })
      : this.#connection.all<{ blockId: number; count: number }>(
          `SELECT block_id, count ${IN_RANGE} ORDER BY first_ms`,
          deviceId,
          kind.name,
          deviceId,
          kind.name,
          fromMs,
          toMs,
        )
    const logged = this.#logged.records(kind, deviceId, {
      ...range,
      order: 'asc',
      limit: Number.POSITIVE_INFINITY,
    })
    const room = blocks.reduce((sum, { count }) => sum + count, logged.atMs.length)
    return { blocks, logged, room }
  }

  /** Returns the number of records; undefined if a block has been deleted. */
  #readInto<R extends Records>(
    kind: RecordKind<R>,
    { blocks, logged }: Selection<R>,
    range: TimeRange,
    into: R,
  ): number | undefined {
    let count = 0
    for (const { blockId, count: recordCount } of blocks) {
      const block = this.#readable(blockId, () => readBlock(this.#connection, blockId))
      if (block === 'gone') return undefined
      if (block === undefined) continue
      // a block with more records than its row counts must not take the space of others
      const room = kind.view(into, 0, count + recordCount)
      count += this.#readable(blockId, () => decodeBlockRange(kind, block, range, room, count)) ?? 0
    }
    if (logged.atMs.length === 0) return count
    const from = indexAtOrAfter(into.atMs, logged.atMs[0] ?? 0, 0, count)
    const end = from === count ? logged : mergeRecords(kind, kind.view(into, from, count), logged)
    into.atMs.set(end.atMs, from)
    const columns = kind.columnsOf(into)
    for (const [i, column] of kind.columnsOf(end).entries()) columns[i]?.set(column, from)
    return from + end.atMs.length
  }

  /** Blocks of the range in its order, each fetched after the previous one was consumed. */
  *#blocks(kind: { name: string }, deviceId: number, range: OrderedRange): Generator<BlockPlace> {
    let block = this.#firstBlock(kind, deviceId, range)
    while (block !== undefined) {
      yield block
      block = this.#nextBlock(kind, deviceId, range, block.firstMs)
    }
  }

  /** The same from the index alone; blocks with unreadable rows are left out and recorded. */
  #reachable(
    kind: { name: string },
    deviceId: number,
    { fromMs, toMs, order }: OrderedRange,
  ): (BlockPlace & { count: number })[] {
    const indexed = this.#connection.all<BlockPlace>(
      `${BLOCK_PLACE} ${IN_RANGE} ORDER BY first_ms ${order}`,
      deviceId,
      kind.name,
      deviceId,
      kind.name,
      fromMs,
      toMs,
    )
    return indexed.flatMap((place) => {
      const { blockId } = place
      const row = this.#readable(blockId, () => readBlockRow(this.#connection, blockId))
      return row === undefined || row === 'gone' ? [] : [{ ...place, count: row.count }]
    })
  }

  #firstBlock(kind: { name: string }, deviceId: number, { fromMs, toMs, order }: OrderedRange): BlockPlace | undefined {
    return this.#connection.get<BlockPlace>(
      `${BLOCK_PLACE} ${IN_RANGE} ORDER BY first_ms ${order} LIMIT 1`,
      deviceId,
      kind.name,
      deviceId,
      kind.name,
      fromMs,
      toMs,
    )
  }

  #nextBlock(
    kind: { name: string },
    deviceId: number,
    { fromMs, toMs, order }: OrderedRange,
    firstMs: number,
  ): BlockPlace | undefined {
    const place = `${BLOCK_PLACE} FROM stored_block WHERE device_id = +? AND stream = +?`
    if (order === 'asc') {
      return this.#connection.get<BlockPlace>(
        `${place} AND first_ms > +? AND first_ms <= +? ORDER BY first_ms LIMIT 1`,
        deviceId,
        kind.name,
        firstMs,
        toMs,
      )
    }
    // a block that ends before the range proves that the earlier ones do too
    return this.#connection.get<BlockPlace>(
      `SELECT blockId, firstMs FROM (${place.replace('SELECT', 'SELECT last_ms,')}
         AND first_ms < +? ORDER BY first_ms DESC LIMIT 1) WHERE last_ms >= +?`,
      deviceId,
      kind.name,
      firstMs,
      fromMs,
    )
  }

  #block<R extends Records>(kind: RecordKind<R>, blockId: number): R | undefined {
    // the block of an id never changes, and has only one kind
    if (this.#last?.blockId === blockId) return this.#last.records as R
    const columns = kind.allocate(MAX_BLOCK_RECORDS)
    const count = this.#readable(blockId, () => {
      const block = readBlock(this.#connection, blockId)
      // nothing is deleted within a snapshot
      return block === 'gone' ? 0 : decodeBlock(kind, block, columns)
    })
    if (count === undefined) return undefined
    const records = kind.view(columns, 0, count)
    this.#last = { blockId, records }
    return records
  }

  /** Result of `work` on a block; undefined if the block cannot be read, which is recorded. */
  #readable<Result>(blockId: number, work: () => Result): Result | undefined {
    try {
      return work()
    } catch (error) {
      if (isUnreadable(error)) this.#unreadable.push({ blockId, reason: unreadableReason(error) })
      // block of another stream, or with more records than its row counts
      else if (error instanceof RangeError) this.#unreadable.push({ blockId, reason: 'impossible_content' })
      else throw error
      return undefined
    }
  }
}
