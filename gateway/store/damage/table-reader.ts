import type Database from 'better-sqlite3'
import type { Connection, Value } from '../db/connection.ts'
import { keyColumns, quoted } from '../db/table-sql.ts'
import { type Bounds, type Key, order } from './recovery-keys.ts'
import { isUnreadable } from './unreadable.ts'

export interface KeyedRow {
  readonly key: Key
  /** In the order of the columns that were asked for. */
  readonly values: readonly Value[]
}

export interface RowsRead {
  readonly rows: readonly KeyedRow[]
  /** Rows that are not where their key belongs, so that it is not their key. */
  readonly misplaced: readonly Key[]
  /** There is more, that was all, or the next row cannot be read. */
  readonly next: 'more' | 'end' | 'unreadable'
}

type Direction = 'up' | 'down'

/** A few are enough to make a row cheap, and few enough that they need not be read again after a bad one. */
const MAX_ROWS = 500
const MAX_BYTES = 4 * 2 ** 20

/** Reads a table that may be damaged by the keys of its own b-tree, in both directions. */
export class TableReader {
  readonly #connection: Connection
  readonly #table: string
  readonly #keys: readonly string[]
  readonly #columns: readonly string[]
  readonly #statements = new Map<string, Database.Statement<Value[], Value[]>>()

  /** Throws what SQLite throws when the schema cannot be read. */
  constructor(connection: Connection, table: string, columns: readonly string[]) {
    // a cell that reaches beyond its page is found before it is believed
    connection.db.pragma('cell_size_check = ON')
    this.#connection = connection
    this.#table = table
    this.#keys = keyColumns(connection, table)
    this.#columns = columns
  }

  /** The next rows up from `after`, or down from `before`. */
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

  /** The key of the next row, whose other columns may be unreadable; null when that is unreadable as well. */
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
    const sql = `SELECT ${[...this.#keys, ...columns.map(quoted)]} FROM ${quoted(this.#table)} NOT INDEXED ${where} ORDER BY ${by}`
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
 * A row whose key does not follow the one before is not where it belongs: it, or the one before when the rest goes on
 * without that one. The last of several rows is only believed once the next is known.
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
