import { DAY_MS, startOfDayMs } from '#shared/time.ts'
import type { Connection } from '../db/connection.ts'
import type { BlockStream } from './deletion.ts'
import type { ReaderTools } from './reader-tools.ts'

/** Keeps the newest block of each device's stream, and blocks that end less than this before it. */
const KEPT_MS = 6 * 60 * 60_000
/** Blocks and streams checked in one job, which takes some milliseconds. */
const EXAMINED_MAX = 4000

/** Midnight before the first block that begins at or after `fromMs`, by block times; null if none exists. */
export function oldestBlockDay({ connection }: ReaderTools, { fromMs }: { fromMs: number }): number | null {
  let oldestMs = Number.POSITIVE_INFINITY
  for (let of = nextStream(connection, null); of !== undefined; of = nextStream(connection, of)) {
    const first = connection.get<{ atMs: number }>(
      // `+?`: see block-rows.ts
      `SELECT first_ms AS atMs FROM stored_block WHERE device_id = +? AND stream = +? AND first_ms >= +?
       ORDER BY first_ms LIMIT 1`,
      of.deviceId,
      of.stream,
      fromMs,
    )
    oldestMs = Math.min(oldestMs, first?.atMs ?? oldestMs)
  }
  return Number.isFinite(oldestMs) ? startOfDayMs(oldestMs) : null
}

export interface DayQuery {
  dayMs: number
  /** True for blocks that the hub does not have, false for those it has. */
  isUnsent: boolean
  /** Last stream of the previous page; null for the first page. */
  after: BlockStream | null
}

export interface BlocksByDay {
  blockIds: number[]
  /** Position for the next page; null at the end. */
  after: BlockStream | null
}

/** Some of the blocks that begin on a day and may be deleted. */
export function blocksOfDay({ connection }: ReaderTools, query: DayQuery): BlocksByDay {
  const blockIds: number[] = []
  let { after } = query
  for (let examined = 0; examined < EXAMINED_MAX; ) {
    const of = nextStream(connection, after)
    if (of === undefined) return { blockIds, after: null }
    const found = blocksOfStream(connection, of, query)
    blockIds.push(...found.blockIds)
    examined += found.examined + 1
    after = of
  }
  return { blockIds, after }
}

interface LoggedBlock {
  blockId: number
  firstMs: number
  isUnsent: 0 | 1
}

function blocksOfStream(
  connection: Connection,
  { deviceId, stream }: BlockStream,
  { dayMs, isUnsent }: DayQuery,
): { blockIds: number[]; examined: number } {
  const newest = connection.get<{ lastMs: number }>(
    `SELECT last_ms FROM stored_block WHERE device_id = +? AND stream = +?
     ORDER BY first_ms DESC LIMIT 1`,
    deviceId,
    stream,
  )
  const keptFromMs = (newest?.lastMs ?? 0) - KEPT_MS
  const rows = connection
    .statement<LoggedBlock>(
      `SELECT block_id AS blockId, first_ms AS firstMs, l.seq IS NOT NULL AS isUnsent
       FROM stored_block LEFT JOIN block_log l USING (block_id)
       WHERE device_id = +? AND stream = +? AND first_ms >= +? ORDER BY first_ms`,
    )
    .iterate(deviceId, stream, dayMs)
  const blockIds: number[] = []
  let examined = 0
  let block: LoggedBlock | undefined
  for (const next of rows) {
    examined++
    // blocks do not overlap: one ends before the next begins
    const mayGo = next.firstMs <= keptFromMs
    if (block !== undefined && mayGo && (block.isUnsent === 1) === isUnsent) blockIds.push(block.blockId)
    if (!mayGo || next.firstMs >= dayMs + DAY_MS) break
    block = next
  }
  return { blockIds, examined }
}

function nextStream(connection: Connection, after: BlockStream | null): BlockStream | undefined {
  return connection.get<BlockStream>(
    `SELECT device_id, stream FROM stored_block WHERE (device_id, stream) > (+?, +?)
     ORDER BY device_id, stream LIMIT 1`,
    after?.deviceId ?? -1,
    after?.stream ?? '',
  )
}
