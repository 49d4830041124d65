import { openReader } from '../db/connection.ts'
import { isDetached } from '../db/detached.ts'
import { describeFault, isDamage, storeFaultCode } from '../db/fault.ts'
import type { ReaderTools } from '../telemetry/reader-tools.ts'

/** Their content has checksums of its own, and they may be many gigabytes. */
const TELEMETRY = ['telemetry_block', 'telemetry_log']

/** All tables that `checkTable` is for. */
export function listCheckedTables({ connection }: ReaderTools, _: null): string[] {
  return connection
    .all<{ name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    .map(({ name }) => name)
    .filter((name) => !TELEMETRY.includes(name) && !isDetached(name))
}

/**
 * Reads all of a table and of its indexes, and compares them. What is wrong, as SQLite says it; null when nothing is.
 */
export function checkTable({ connection }: ReaderTools, table: string): string | null {
  // of its own: pages that were read before are not read again
  const reading = openReader(connection.db.name)
  try {
    const [row] = reading.all<{ found: string }>(
      `SELECT integrity_check AS found FROM pragma_integrity_check('${table}')`,
    )
    return row === undefined || row.found === 'ok' ? null : row.found
  } catch (error) {
    if (!isDamage(storeFaultCode(error))) throw error
    return describeFault(error)
  } finally {
    reading.close()
  }
}

/**
 * Compares `count` pages of the file, from number `first` on, with their checksums: numbers of those that differ, and
 * whether there are more pages. One wrong bit is none, as `repairPages` sees to it. The write-ahead log may have such
 * a page anew. Null when there are no checksums.
 */
export function scanPages(
  { connection }: ReaderTools,
  { first, count }: { first: number; count: number },
): { wrong: number[]; isDone: boolean } | null {
  if (!connection.hasPageSums) return null
  const row = connection.get<{ wrong: string | null }>('SELECT page_scan(?, ?) AS wrong', first, count)
  if (row === undefined || row.wrong === null) return null
  const wrong = row.wrong === '' ? [] : row.wrong.split(',').map(Number)
  const pages = connection.get<{ pageCount: number }>('PRAGMA page_count')?.pageCount ?? 0
  return { wrong, isDone: first + count > pages }
}
