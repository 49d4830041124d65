import type { Connection } from '../db/connection.ts'
import { storeFaultCode } from '../db/fault.ts'
import { isUnreadable } from './unreadable.ts'

// SQLite places the root page of a new table or index after the last root page, and moves the page that is there. It
// cannot if the page that refers to that page is damaged. In that case, the root pages of spare indexes, which never
// hold entries, are reused.

/** Number of spare indexes: twice the need of the table with most indexes. */
const SPARES = 16
/** Table of the spare indexes: it has one row and no references. */
const TABLE = 'closed_day'
const COLUMN = 'date'
const PREFIX = 'spare_root_'

/** Creates the missing spare indexes; none if the schema is older than their table. */
export function addSpareRoots(connection: Connection): void {
  if (connection.get("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?", TABLE) === undefined) return
  for (let n = 1; n <= SPARES; n++)
    connection.db.exec(`CREATE INDEX IF NOT EXISTS ${PREFIX}${n} ON ${TABLE} (${COLUMN}) WHERE 0`)
}

/** Creates the missing spare indexes, if the disk and existing damage permit. */
export function keepSpareRoots(writing: Connection): void {
  if (spareRoots(writing).length === SPARES) return
  try {
    writing.db.transaction(() => addSpareRoots(writing)).immediate()
  } catch (error) {
    // spare indexes are needed for future damage only
    if (storeFaultCode(error) === null) throw error
  }
}

/** Retries with spare roots if a damaged page blocks the creation of tables and indexes. */
export function inAnyPlace<Result>(create: (takesSpares: boolean) => Result): Result {
  try {
    return create(false)
  } catch (error) {
    if (!isUnreadable(error)) throw error
    return create(true)
  }
}

/** Frees the root pages of `count` spare indexes, or of all left; the next tables and indexes reuse them. */
export function takeSpareRoots(writing: Connection, count: number): void {
  for (const name of spareRoots(writing).slice(0, count)) writing.db.exec(`DROP INDEX ${name}`)
}

export function isSpareRoot(index: string): boolean {
  return index.startsWith(PREFIX)
}

/** Returns the spare indexes, the last one in the file first, so that dropping them moves no other table. */
function spareRoots(connection: Connection): string[] {
  return connection
    .all<{ name: string }>("SELECT name FROM sqlite_schema WHERE type = 'index' ORDER BY rootpage DESC")
    .map(({ name }) => name)
    .filter(isSpareRoot)
}
