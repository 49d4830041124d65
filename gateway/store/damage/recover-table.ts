import { SqliteError } from 'better-sqlite3'
import type { Connection } from '../db/connection.ts'
import { columnsOf, quoted } from '../db/table-sql.ts'
import { areAdjacentKeys, type Bounds, type Key, keyBetween, order } from './recovery-keys.ts'
import { type KeyedRow, TableReader } from './table-reader.ts'
import { isUnreadable } from './unreadable.ts'

/**
 * What could not be read: a row whose key is known, or whatever was between two keys (null: from the beginning, to the
 * end), of which nobody knows how many rows it was; it can be none.
 */
export type Unreadable = { readonly key: Key } | Bounds

/** What was copied out of a table, and what was not. */
export interface RecoveredRows {
  readonly table: string
  /** Rows that were copied. */
  readonly rows: number
  /** In the order of the keys. */
  readonly unreadable: readonly Unreadable[]
  /** Rows that could be read and that the new table does not take: they break a rule of it, or are there twice. */
  readonly refused: readonly Key[]
  /** Whether every row was read and copied. */
  readonly isComplete: boolean
}

/** How often a table is asked for what is in the middle of what cannot be read; takes up to a second. */
const PROBES = 2048

/**
 * Copies all rows that can be read into the table of that name in `to`, which is there, by the keys of the table itself
 * and by no index: from the first key on, then from the last one back, then from the middle of what is left between.
 * What cannot be read, and what `to` does not take, is told and not thrown. `source` is its name in `from`, if another;
 * rows that are not wanted are neither copied nor told.
 *
 * `from` may be `to`, but not within a transaction: SQLite ends it when a page has a wrong checksum. A reader that was
 * opened before a transaction of `to` sees the table as it was, whatever its name is now.
 * Throws what SQLite throws when `to` cannot be written.
 */
export function recoverTable(
  from: Connection,
  to: Connection,
  table: string,
  source = table,
  isWanted: (key: Key) => boolean = () => true,
): RecoveredRows {
  if (from === to && to.db.inTransaction) throw new Error('a transaction cannot salvage what it changes')
  const copy = new TableCopy(to, table, isWanted)
  const found: Unreadable[] = []
  try {
    new Recovery(new TableReader(from, source, copy.columns), copy, found).run()
  } catch (error) {
    if (!isUnreadable(error)) throw error
    // not even the schema
    found.push({ after: null, before: null })
  }
  const unreadable = found.filter((one) => !('key' in one) || isWanted(one.key))
  const { rows, refused } = copy
  return { table, rows, unreadable, refused, isComplete: unreadable.length + refused.length === 0 }
}

/** Where rows are copied to. */
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

  // what is unreadable is told in the order of the keys: what is found on the way down after what is below it
  #downThenBetween(bounds: Bounds, probes: number): void {
    const above: Unreadable[] = []
    const left = this.#read('down', bounds, above)
    if (left !== null) this.#between(left, probes)
    this.#unreadable.push(...above.reverse())
  }

  // the next row up and the next down cannot be reached; others between them may be
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

  /** Copies what can be read in this direction; returns what is left of it, null when nothing is. */
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

  // what was cut in the middle, and is unreadable on both sides of it, is one
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
