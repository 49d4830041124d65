import type { TelemetryStream } from '#shared/ids.ts'
import { write } from '../db/audit.ts'
import type { Connection } from '../db/connection.ts'
import { requireBroken } from '../db/readable-disk.ts'
import { Gaps, isLogged } from '../ledger/gaps.ts'
import type { WriterTables } from './log-tail.ts'
import type { ReaderTools } from './reader-tools.ts'

export interface IndexedBlock {
  blockId: number
  deviceId: number
  stream: TelemetryStream
  firstMs: number
}

/** Some of the blocks with unreadable rows. */
export interface UnreachableBlocks {
  found: IndexedBlock[]
  /** True if their table is already detached. */
  isDetached: boolean
  /** Start of the next search; null at the end. */
  next: BlockSearch | null
}

/** Rows checked in one job, which takes some milliseconds. */
const ROWS_A_JOB = 4000

const COLUMNS = 'block_id, device_id, stream, first_ms, last_ms, count, records'
const DETACHED = 'damaged_telemetry_block_'
const INDEX = 'telemetry_block_by_device'

/** Hides a block, and deletes it from the file unless its table is detached. Returns true if it existed. */
export function removeBlock(connection: Connection, blockId: number): boolean {
  if (connection.run('DELETE FROM telemetry_block WHERE block_id = ?', blockId) > 0) return true
  const hidden = connection.run(
    'INSERT INTO hidden_block (block_id) SELECT block_id FROM stored_block WHERE block_id = ?',
    blockId,
  )
  // the trigger of the table does the same
  if (hidden > 0) connection.run('DELETE FROM block_log WHERE block_id = ?', blockId)
  return hidden > 0
}

/**
 * Detaches (renames) the table of blocks without reading its pages, and creates a new one: SQLite cannot insert if the
 * last page is damaged, nor delete next to one. Both tables are read from then on; a repair merges them.
 */
export function detachBlocks(connection: Connection): void {
  const detachedNames = blockTables(connection).slice(1)
  const detached = `${DETACHED}${detachedNames.length + 1}`
  const parts = connection.all<{ type: string; name: string; sql: string }>(
    `SELECT type, name, sql FROM sqlite_schema WHERE tbl_name = 'telemetry_block' AND sql IS NOT NULL
     ORDER BY type = 'table' DESC, name`,
  )
  connection.db.exec('DROP VIEW stored_block')
  for (const { type, name } of parts) if (type === 'trigger') connection.db.exec(`DROP TRIGGER ${name}`)
  connection.db.exec(`ALTER TABLE telemetry_block RENAME TO ${detached}`)
  for (const { type, name, sql } of parts) {
    // the index belongs to the detached table, and keeps its name
    const isIndex = type === 'index'
    connection.db.exec(isIndex ? sql.replace(name, `${INDEX}_${detachedNames.length + 2}`) : sql)
  }
  // block numbers are never reused
  connection.run(
    "INSERT INTO sqlite_sequence (name, seq) SELECT 'telemetry_block', seq FROM sqlite_sequence WHERE name = ?",
    detached,
  )
  const frozen = [...detachedNames, detached].map(
    (name) => `UNION ALL SELECT ${COLUMNS} FROM ${name} WHERE block_id NOT IN (SELECT block_id FROM hidden_block)`,
  )
  connection.db.exec(`CREATE VIEW stored_block AS SELECT ${COLUMNS} FROM telemetry_block ${frozen.join(' ')}`)
}

/** Table of blocks, followed by the detached ones, oldest first. */
export function blockTables(connection: Connection): string[] {
  const detachedNames = connection.all<{ name: string }>(
    `SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE '${DETACHED}%' ORDER BY length(name), name`,
  )
  return ['telemetry_block', ...detachedNames.map(({ name }) => name)]
}

/** Position of a search for unreachable blocks. */
export interface BlockSearch {
  /** Index in `blockTables`. */
  table: number
  after: number
}

/** Finds some blocks on unreadable pages, as listed by the index. Throws the errors of SQLite if that is unreadable. */
export function findUnreachableBlocks({ connection }: ReaderTools, { table, after }: BlockSearch): UnreachableBlocks {
  const name = blockTables(connection)[table]
  if (name === undefined) return { found: [], isDetached: true, next: null }
  const isDetached = table > 0
  const read = readOn(connection, name, after)
  const nextTable = { table: table + 1, after: 0 }
  if (!read.isDamaged) return { found: [], isDetached, next: read.isDone ? nextTable : { table, after: read.after } }
  const index = connection.get<{ name: string }>(
    "SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL",
    name,
  )
  const indexed = `${name} INDEXED BY ${index?.name}`
  const last = connection.get<{ id: number | null }>(`SELECT max(block_id) AS id FROM ${indexed}`)?.id ?? 0
  const next = nextReadable(connection, name, read.after, last)
  const between = connection.all<IndexedBlock>(
    `SELECT block_id, device_id, stream, first_ms FROM ${indexed}
     WHERE block_id > ? AND block_id < ? AND block_id NOT IN (SELECT block_id FROM hidden_block)
     ORDER BY block_id`,
    read.after,
    next ?? Number.MAX_SAFE_INTEGER,
  )
  const found = between.filter(({ blockId }) => !isReachable(connection, name, blockId))
  return { found, isDetached, next: next === null ? nextTable : { table, after: next - 1 } }
}

/** Reads rows until an error. */
function readOn(
  connection: Connection,
  table: string,
  after: number,
): { after: number; isDone: boolean; isDamaged: boolean } {
  const rows = connection
    .statement<{ blockId: number }>(
      // reads a column of the row, because SQLite would read an index alone instead
      `SELECT block_id AS blockId, count FROM ${table} NOT INDEXED
       WHERE block_id > ? ORDER BY block_id LIMIT ${ROWS_A_JOB}`,
    )
    .iterate(after)
  let last = after
  let read = 0
  try {
    for (const { blockId } of rows) {
      last = blockId
      read++
    }
  } catch (error) {
    requireBroken(error, connection)
    return { after: last, isDone: false, isDamaged: true }
  }
  return { after: last, isDone: read < ROWS_A_JOB, isDamaged: false }
}

/** First readable block after the damage that begins after a block, found in growing steps; null if none exists. */
function nextReadable(connection: Connection, table: string, after: number, last: number): number | null {
  for (let step = 1; after + step <= last; step *= 2) {
    try {
      const next = connection.get<{ blockId: number; count: number }>(
        `SELECT block_id, count FROM ${table} NOT INDEXED WHERE block_id > ? ORDER BY block_id LIMIT 1`,
        after + step,
      )
      return next?.blockId ?? null
    } catch (error) {
      requireBroken(error, connection)
    }
  }
  return null
}

function isReachable(connection: Connection, table: string, blockId: number): boolean {
  try {
    connection.get(`SELECT count FROM ${table} WHERE block_id = ?`, blockId)
    return true
  } catch (error) {
    requireBroken(error, connection)
    return false
  }
}

/** Hides unreadable blocks and lists them as damaged. Their counts are unknown, so those of devices stay unchanged. */
export const hideUnreachableBlocks = write(
  (
    connection: WriterTables,
    { blocks, isDetached, nowMs }: { blocks: readonly IndexedBlock[]; isDetached: boolean; nowMs: number },
  ): void => {
    if (!isDetached) detachBlocks(connection)
    const gaps = new Gaps(connection)
    for (const { blockId, deviceId, stream, firstMs } of blocks) {
      connection.run('INSERT OR IGNORE INTO hidden_block (block_id) VALUES (?)', blockId)
      connection.run(
        `INSERT OR IGNORE INTO damaged_block
         (block_id, device_id, stream, first_ms, last_ms, count, reason, found_at_ms, records)
       VALUES (?, ?, ?, ?, ?, 0, 'unreadable_page', ?, x'')`,
        blockId,
        deviceId,
        stream,
        firstMs,
        firstMs,
        nowMs,
      )
      if (isLogged(connection, blockId)) gaps.add({ deviceId, stream, firstMs, lastMs: firstMs, count: 0 })
    }
    gaps.write('damage', nowMs)
  },
  { audit: null, changesTelemetry: true },
)
