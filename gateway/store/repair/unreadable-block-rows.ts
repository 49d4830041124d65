import { isUnreadable } from '../damage/unreadable.ts'
import type { Connection } from '../db/connection.ts'
import { blockTables } from '../telemetry/detached-blocks.ts'

export interface UnreadableBlockRow {
  readonly blockId: number
  /** Null if the device is unknown too. */
  readonly hardwareId: string | null
  readonly stream: string
  readonly firstMs: number
  /** Null if only the index lists the block. */
  readonly lastMs: number | null
  readonly count: number | null
}

interface Indexed {
  readonly blockId: number
  readonly deviceId: number
  readonly stream: string
  readonly firstMs: number
}

/**
 * Finds the blocks that `to` lacks with the indexes of the old tables, which are on other pages; other fields are
 * unknown. Hidden blocks do not count as lost: they were deleted, or are among the damaged ones.
 */
export function lostBlocks(from: Connection, to: Connection): UnreadableBlockRow[] {
  const isThere = to.statement('SELECT 1 FROM telemetry_block WHERE block_id = ?')
  const hardwareId = to.db.prepare<[number], string>('SELECT hardware_id FROM device WHERE device_id = ?').pluck()
  const hidden = hiddenBlocks(from)
  return blockTables(from).flatMap((table) =>
    indexedBlocks(from, table)
      .filter(({ blockId }) => isThere.get(blockId) === undefined && !hidden.has(blockId))
      .map(({ deviceId, ...block }) => ({
        ...block,
        hardwareId: hardwareId.get(deviceId) ?? null,
        ...extentOf(from, table, block.blockId),
      })),
  )
}

function hiddenBlocks(from: Connection): Set<number> {
  try {
    return new Set(from.db.prepare<[], number>('SELECT block_id FROM hidden_block').pluck().all())
  } catch {
    // the table is damaged, or newer than the database
    return new Set()
  }
}

function indexedBlocks(from: Connection, table: string): Indexed[] {
  const found: Indexed[] = []
  try {
    const index = from.get<{ name: string }>(
      "SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL",
      table,
    )
    if (index === undefined) return []
    const rows = from.db.prepare<[], Indexed>(
      `SELECT block_id AS blockId, device_id AS deviceId, stream, first_ms AS firstMs
       FROM ${table} INDEXED BY ${index.name} ORDER BY device_id, stream, first_ms`,
    )
    for (const row of rows.iterate()) found.push(row)
  } catch (error) {
    if (!isUnreadable(error)) throw error
  }
  return found
}

function extentOf(from: Connection, table: string, blockId: number): Pick<UnreadableBlockRow, 'lastMs' | 'count'> {
  try {
    const row = from.get<{ lastMs: number; count: number }>(
      `SELECT last_ms, count FROM ${table} NOT INDEXED WHERE block_id = ?`,
      blockId,
    )
    return row ?? { lastMs: null, count: null }
  } catch (error) {
    if (!isUnreadable(error)) throw error
    return { lastMs: null, count: null }
  }
}
