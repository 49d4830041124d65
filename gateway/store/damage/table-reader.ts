import type Database from 'better-sqlite3'
import type { Connection, Value } from '../db/connection.ts'
import { keyColumns, quoted } from '../db/table-sql.ts'
import { type Bounds, type Key, order } from './recovery-keys.ts'
import { isUnreadable } from './unreadable.ts'

export interface KeyedRow {
  readonly key: Key
  /** Values in the order of the requested columns. */
  readonly values: readonly Value[]
}

export interface RowsRead {
  readonly rows: readonly KeyedRow[]
  /** Keys of rows that are not at the position of their key, so that the key must be wrong. */
  readonly misplaced: readonly Key[]
  /** More rows follow, the table has ended, or the next row cannot be read. */
  readonly next: 'more' | 'end' | 'unreadable'
}

type Direction = 'up' | 'down'

/** Rows in a read: enough to make a row cheap, and few enough to be read again after an unreadable one. */
const MAX_ROWS = 500
const MAX_BYTES = 4 * 2 ** 20

/** Reads a possibly damaged table by the keys of its own b-tree, in both directions. */
export class TableReader {
  readonly #connection: Connection
  readonly #table: string
  readonly #keys: readonly string[]
  readonly #columns: readonly string[]
  readonly #statements = new Map<string, Database.Statement<Value[], Value[]>>()

  /** Throws the errors of SQLite if the schema cannot be read. */
  constructor(connection: Connection, table: string, columns: readonly string[]) {
    // makes SQLite detect a cell that reaches beyond its page
    connection.db.pragma('cell_size_check = ON')
    this.#connection = connection
    this.#table = table
    this.#keys = keyColumns(connection, table)
    this.#columns = columns
  }

  /** Reads the next rows up from `after`, or down from `before`. */
  read(direction: Direction, bounds: Bounds): RowsRead {
    const rows: KeyedRow[] = []
    let bytes = 0
    try {
      for (const values of this.#iterate(direction, bounds, this.#columns)) {
        const key = values.slice(0, this.#keys.length)
        rows.push({ key, values: values.slice(key.length) })
        bytes += values.reduce<number>((sum, value) => sum + byteLengthOf(value), 0)
        const isFull = rows.length > MAX_ROWS || (bytes > MAX_BYTES && rows.length > 1)
        if (isFull) return inPlace(rows, direction, bounds, 'more')
      }
      return inPlace(rows, direction, bounds, 'end')
    } catch (error) {
      if (!isUnreadable(error)) throw error
      return inPlace(rows, direction, bounds, 'unreadable')
    }
  }

  /** Returns the key of the next row, whose other columns may be unreadable; null if the key is unreadable too. */
  nextKey(direction: Direction, bounds: Bounds): Key | null {
    try {
      for (const key of this.#iterate(direction, bounds, [])) return key
    } catch (error) {
      if (!isUnreadable(error)) throw error
    }
    return null
  }

  #iterate(direction: Direction, { after, isAfterIncluded = false, before }: Bounds, columns: readonly string[]) {
    const limits = [
      ...(after === null ? [] : [this.#limit(isAfterIncluded ? '>=' : '>', after)]),
      ...(before === null ? [] : [this.#limit('<', before)]),
    ]
    const where = limits.length === 0 ? '' : `WHERE ${limits.join(' AND ')}`
    const by = this.#keys.map((key) => `${key} ${direction === 'up' ? 'ASC' : 'DESC'}`)
    const sql =
      `SELECT ${[...this.#keys, ...columns.map(quoted)]} FROM ${quoted(this.#table)} NOT INDEXED ${where} ORDER ` +
      `BY ${by}`
    return this.#statement(sql).iterate(...(after ?? []), ...(before ?? []))
  }

  #statement(sql: string): Database.Statement<Value[], Value[]> {
    const known = this.#statements.get(sql)
    if (known !== undefined) return known
    const statement = this.#connection.db.prepare<Value[], Value[]>(sql).raw().safeIntegers()
    this.#statements.set(sql, statement)
    return statement
  }

  #limit(operator: string, key: Key): string {
    return `(${this.#keys.slice(0, key.length)}) ${operator} (${key.map(() => '?')})`
  }
}

function byteLengthOf(value: Value): number {
  return typeof value === 'string' || value instanceof Uint8Array ? value.length : 8
}

/**
 * Removes misplaced rows. If the keys of two rows are out of order, the first is misplaced if the rest is in order
 * without it, otherwise the second. If more rows follow, the last one is only accepted with the next read.
 */
function inPlace(
  rows: readonly KeyedRow[],
  direction: Direction,
  { after, before }: Bounds,
  next: RowsRead['next'],
): RowsRead {
  const start = direction === 'up' ? after : before
  const follows = (key: Key, other: Key | null | undefined) =>
    other === null || other === undefined || (direction === 'up' ? order(other, key) < 0 : order(key, other) < 0)
  const kept: KeyedRow[] = []
  const misplaced: Key[] = []
  for (const row of rows) {
    const last = kept.at(-1)
    if (last !== undefined && !follows(row.key, last.key)) {
      const isLastWrong = follows(row.key, kept.at(-2)?.key ?? start)
      misplaced.push(isLastWrong ? last.key : row.key)
      if (!isLastWrong) continue
      kept.pop()
    }
    kept.push(row)
  }
  if (next === 'more') kept.pop()
  return { rows: kept, misplaced, next }
}
