import { DAY_MS } from '#shared/time.ts'
import type { ReaderTools } from '../telemetry/reader-tools.ts'

/** Amount of telemetry recorded in a month. */
export interface StoredMonth {
  /** `2026-05`, UTC. */
  month: string
  /** Estimated size of its blocks: their number times the size of sampled ones. */
  bytes: number
}

/** Number of blocks of the whole history sampled for their size; their rows are far apart on the disk. */
const EXAMINED_MAX = 400

/** Bytes of each month, oldest first, counted by the index: reading all rows for sizes takes too long for a request. */
export function readStoredMonths({ connection }: ReaderTools, _: object): StoredMonth[] {
  const counted = connection.all<{ day: number; blocks: number }>(
    `SELECT first_ms / ${DAY_MS} AS day, COUNT(*) AS blocks FROM stored_block GROUP BY day ORDER BY day`,
  )
  const blocksOf = new Map<string, number>()
  for (const { day, blocks } of counted) {
    const month = monthOf(day * DAY_MS)
    blocksOf.set(month, (blocksOf.get(month) ?? 0) + blocks)
  }
  const sizes = readSizes(connection)
  const all = meanOf([...sizes.values()].flat())
  return [...blocksOf].map(([month, blocks]) => ({
    month,
    bytes: Math.round(blocks * meanOf(sizes.get(month) ?? [], all)),
  }))
}

/** Sizes of the sampled blocks, by month. */
function readSizes(connection: ReaderTools['connection']): Map<string, number[]> {
  const sizes = new Map<string, number[]>()
  const ends = connection.get<{ first: number | null; last: number | null }>(
    // in one SELECT, both would scan the index again
    'SELECT (SELECT MIN(block_id) FROM telemetry_block) AS first, (SELECT MAX(block_id) FROM telemetry_block) AS last',
  )
  const [first, last] = [ends?.first ?? 0, ends?.last ?? -1]
  const step = Math.max(1, (last - first) / EXAMINED_MAX)
  for (let at = first; at <= last; at += step) {
    const block = connection.get<{ firstMs: number; bytes: number }>(
      `SELECT first_ms, length(records) AS bytes FROM telemetry_block
       WHERE block_id >= ? ORDER BY block_id LIMIT 1`,
      Math.ceil(at),
    )
    if (block === undefined) break
    const month = monthOf(block.firstMs)
    sizes.set(month, [...(sizes.get(month) ?? []), block.bytes])
  }
  return sizes
}

function monthOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 7)
}

function meanOf(values: readonly number[], otherwise = 0): number {
  return values.length === 0 ? otherwise : values.reduce((sum, value) => sum + value, 0) / values.length
}
