import type { Connection } from '../db/connection.ts'
import { storeFaultCode } from '../db/fault.ts'
import { isUnreadable } from './unreadable.ts'

// SQLite puts the first page of a new table or index behind the last first page, and moves what is there out of the
// way. It cannot where the page that leads there is damaged: then the first pages of indexes that never hold anything
// are taken.

/** So many suffice for the table with most indexes, twice. */
const SPARES = 16
/** A table of one row, which refers to none. */
const TABLE = 'closed_day'
const COLUMN = 'date'
const PREFIX = 'spare_root_'

/** Makes the spare indexes that are missing; none in a schema from before their table. */
export function addSpareRoots(connection: Connection): void {
  if (connection.get("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?", TABLE) === undefined) return
  for (let n = 1; n <= SPARES; n++)
    connection.db.exec(`CREATE INDEX IF NOT EXISTS ${PREFIX}${n} ON ${TABLE} (${COLUMN}) WHERE 0`)
}

/** Makes those that are missing, if the disk and its damage let it. */
export function keepSpareRoots(writing: Connection): void {
  if (spareRoots(writing).length === SPARES) return
  try {
    writing.db.transaction(() => addSpareRoots(writing)).immediate()
  } catch (error) {
    // only damage to come needs them
    if (storeFaultCode(error) === null) throw error
  }
}

/** Tries again with spare roots where a damaged page is in the way of anything new. */
export function inAnyPlace<Result>(create: (takesSpares: boolean) => Result): Result {
  try {
    return create(false)
  } catch (error) {
    if (!isUnreadable(error)) throw error
    return create(true)
  }
}

/** Frees the first pages of so many spare indexes, or of all that are left: what is created next takes them. */
export function takeSpareRoots(writing: Connection, count: number): void {
  for (const name of spareRoots(writing).slice(0, count)) writing.db.exec(`DROP INDEX ${name}`)
}

export function isSpareRoot(index: string): boolean {
  return index.startsWith(PREFIX)
}

/** The last in the file first: no other table is moved when that goes. */
function spareRoots(connection: Connection): string[] {
  return connection
    .all<{ name: string }>("SELECT name FROM sqlite_schema WHERE type = 'index' ORDER BY rootpage DESC")
    .map(({ name }) => name)
    .filter(isSpareRoot)
}
