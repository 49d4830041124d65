import { SqliteError } from 'better-sqlite3'
import type { Connection } from '../db/connection.ts'
import { columnsOf, quoted } from '../db/table-sql.ts'
import { areAdjacentKeys, type Bounds, type Key, keyBetween, order } from './recovery-keys.ts'
import { type KeyedRow, TableReader } from './table-reader.ts'
import { isUnreadable } from './unreadable.ts'

/** Unreadable row of a known key, or range between two keys (null: beginning, end) of any number of rows, even 0. */
export type Unreadable = { readonly key: Key } | Bounds

export interface RecoveredRows {
  readonly table: string
  readonly rows: number
  /** Unreadable parts, in the order of the keys. */
  readonly unreadable: readonly Unreadable[]
  /** Rows that could be read but that the new table rejects: they break a constraint or are duplicates. */
  readonly refused: readonly Key[]
  /** True if every row was read and copied. */
  readonly isComplete: boolean
}

/** Number of reads in the middle of unreadable ranges; they take up to a second. */
const PROBES = 2048

/**
 * Copies all readable rows into the existing table of that name in `to`, by the keys of the table itself and without an
 * index: from the first key upwards, then from the last one downwards, then from the middle of each remaining range.
 * Rows that cannot be read or that `to` rejects are returned, not thrown. `source` is the name of the table in `from`,
 * if different; rows that `isWanted` excludes are neither copied nor returned.
 *
 * `from` may be `to`, but not within a transaction: SQLite rolls it back when a page has a wrong checksum. A reader
 * that was opened before a transaction of `to` sees the old table, whatever its name is now. Throws the errors of
 * SQLite if `to` cannot be written.
 */
export function recoverTable(
  from: Connection,
  to: Connection,
  table: string,
  source = table,
  isWanted: (key: Key) => boolean = () => true,
): RecoveredRows {
  if (from === to && to.db.inTransaction) throw new Error('a transaction cannot recover a table that it changes')
  const copy = new TableCopy(to, table, isWanted)
  const found: Unreadable[] = []
  try {
    new Recovery(new TableReader(from, source, copy.columns), copy, found).run()
  } catch (error) {
    if (!isUnreadable(error)) throw error
    // not even the schema can be read
    found.push({ after: null, before: null })
  }
  const unreadable = found.filter((one) => !('key' in one) || isWanted(one.key))
  const { rows, refused } = copy
  return { table, rows, unreadable, refused, isComplete: unreadable.length + refused.length === 0 }
}

export class TableCopy {
  rows = 0
  readonly refused: Key[] = []
  readonly columns: readonly string[]
  readonly insert: (rows: readonly KeyedRow[]) => void

  constructor(to: Connection, table: string, isWanted: (key: Key) => boolean) {
    this.columns = columnsOf(to, table)
    const insertion = to.db.prepare(
      `INSERT INTO ${quoted(table)} (${this.columns.map(quoted)}) VALUES (${this.columns.map(() => '?')})`,
    )
    this.insert = to.db.transaction((rows: readonly KeyedRow[]) => {
      for (const { key, values } of rows) {
        if (!isWanted(key)) continue
        try {
          insertion.run(...values)
          this.rows++
        } catch (error) {
          if (!breaksRule(error)) throw error
          this.refused.push(key)
        }
      }
    })
  }
}

class Recovery {
  readonly #reader: TableReader
  readonly #copy: TableCopy
  readonly #unreadable: Unreadable[]

  constructor(reader: TableReader, copy: TableCopy, unreadable: Unreadable[]) {
    this.#reader = reader
    this.#copy = copy
    this.#unreadable = unreadable
  }

  run(): void {
    this.#upThenDown({ after: null, before: null }, PROBES)
  }

  #upThenDown(bounds: Bounds, probes: number): void {
    const left = this.#read('up', bounds, this.#unreadable)
    if (left !== null) this.#downThenBetween(left, probes)
  }

  // keeps the order of keys: parts found on the way down are appended after the parts below them
  #downThenBetween(bounds: Bounds, probes: number): void {
    const above: Unreadable[] = []
    const left = this.#read('down', bounds, above)
    if (left !== null) this.#between(left, probes)
    this.#unreadable.push(...above.reverse())
  }

  // neither end of the range can be read; rows in between may be
  #between(bounds: Bounds, probes: number): void {
    if (areAdjacentKeys(bounds)) return
    const middle = probes < 1 ? null : keyBetween(bounds)
    if (middle === null) {
      this.#addGap(bounds)
      return
    }
    this.#downThenBetween({ ...bounds, before: middle }, probes / 2)
    const left = this.#read('up', { after: middle, isAfterIncluded: true, before: bounds.before }, this.#unreadable)
    if (left !== null) this.#between(left, probes / 2)
  }

  /** Copies the readable rows in this direction; returns the remaining range, or null if none remains. */
  #read(direction: 'up' | 'down', bounds: Bounds, unreadable: Unreadable[]): Bounds | null {
    let left = bounds
    const narrow = (key: Key | undefined) => {
      if (key === undefined) return
      left = direction === 'up' ? { after: key, before: left.before } : { ...left, before: key }
    }
    for (;;) {
      const { rows, misplaced, next } = this.#reader.read(direction, left)
      this.#copy.insert(rows)
      unreadable.push(...misplaced.map((key) => ({ key })))
      narrow(rows.at(-1)?.key)
      if (next === 'end') return null
      if (next === 'more') continue
      const key = this.#reader.nextKey(direction, left)
      if (key === null) return left
      unreadable.push({ key })
      narrow(key)
    }
  }

  // joins a range that was split in the middle and is unreadable on both sides
  #addGap(bounds: Bounds): void {
    const last = this.#unreadable.at(-1)
    if (last !== undefined && 'before' in last && isSame(last.before, bounds.after))
      this.#unreadable.splice(-1, 1, { ...last, before: bounds.before })
    else this.#unreadable.push(bounds)
  }
}

function isSame(a: Key | null, b: Key | null): boolean {
  return a !== null && b !== null && order(a, b) === 0
}

function breaksRule(error: unknown): boolean {
  return error instanceof SqliteError && /^SQLITE_(CONSTRAINT|MISMATCH|TOOBIG)/.test(error.code)
}
