import { crc32 } from 'node:zlib'
import type { Connection } from '../db/connection.ts'
import { quoted } from '../db/table-sql.ts'
import { encodeRow, type StoredValue } from './row-codec.ts'

export interface TableShape {
  readonly name: string
  readonly columns: readonly string[]
  /** Columns that rows are ordered by: the same rows have the same order in each backup. */
  readonly order: string
}

/** Number of rows that are stored together, and their bytes. */
export interface Chunk {
  readonly rows: number
  readonly bytes: Buffer
}

/** Minimum size. A chunk ends after a row whose content marks the end, so changes affect only chunks around them. */
const LEAST_BYTES = 512 * 1024
const MOST_BYTES = 4 * 1024 * 1024
const ENDS_ONE_IN = 16

/** Tables that are read last: their rows have checksums of their own, so page checksums are ignored. */
const TELEMETRY = ['telemetry_log', 'telemetry_block', 'damaged_block']

/** Returns all tables with rows to keep, those of telemetry last. */
export function tableShapes(connection: Connection): TableShape[] {
  const names = connection
    .all<{ name: string }>(
      `SELECT name FROM sqlite_schema WHERE type = 'table' AND (name NOT LIKE 'sqlite_%' OR name = 'sqlite_sequence')
       ORDER BY name`,
    )
    .map(({ name }) => name)
  return [...names.filter((name) => !isTelemetry(name)), ...names.filter(isTelemetry)].map((name) =>
    shapeOf(connection, name),
  )
}

/** True for tables of telemetry, including detached tables with blocks. */
export function isTelemetry(table: string): boolean {
  return TELEMETRY.some((name) => table.startsWith(name) && !table.startsWith('telemetry_log_end'))
}

function shapeOf(connection: Connection, name: string): TableShape {
  // without generated columns, which SQLite computes
  const columns = connection.all<{ name: string; pk: number }>(
    'SELECT name, pk FROM pragma_table_info(?) ORDER BY cid',
    name,
  )
  const isWithoutRowid =
    connection.get("SELECT 1 FROM pragma_table_list WHERE name = ? AND schema = 'main' AND wr = 1", name) !== undefined
  const keys = columns.filter(({ pk }) => pk > 0).sort((a, b) => a.pk - b.pk)
  return {
    name,
    columns: columns.map((column) => column.name),
    order: isWithoutRowid ? keys.map((key) => quoted(key.name)).join(', ') : 'rowid',
  }
}

/** Yields the rows of a table in chunks of some hundred kilobytes. */
export function chunksOf(connection: Connection, { name, columns, order }: TableShape): Generator<Chunk> {
  const statement = connection.db
    .prepare<[], StoredValue[]>(`SELECT ${columns.map(quoted).join(', ')} FROM ${quoted(name)} ORDER BY ${order}`)
    .safeIntegers()
    .raw()
  return inChunks(statement.iterate())
}

/** Yields chunks of rows from any source, which may read them in steps. */
export function* inChunks(rows: Iterable<StoredValue[]>): Generator<Chunk> {
  let pending: Buffer[] = []
  let bytes = 0
  for (const row of rows) {
    const encoded = encodeRow(row)
    pending.push(encoded)
    bytes += encoded.length
    if (bytes < LEAST_BYTES || (bytes < MOST_BYTES && crc32(encoded) % ENDS_ONE_IN !== 0)) continue
    yield { rows: pending.length, bytes: Buffer.concat(pending) }
    pending = []
    bytes = 0
  }
  if (pending.length > 0) yield { rows: pending.length, bytes: Buffer.concat(pending) }
}
