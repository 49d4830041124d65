import { openReader } from '../db/connection.ts'
import { isDetached } from '../db/detached.ts'
import { describeFault, isDamage, storeFaultCode } from '../db/fault.ts'
import type { ReaderTools } from '../telemetry/reader-tools.ts'

/** Tables with checksums of their own; they may be many gigabytes. */
const TELEMETRY = ['telemetry_block', 'telemetry_log']

export function listCheckedTables({ connection }: ReaderTools, _: null): string[] {
  return connection
    .all<{ name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    .map(({ name }) => name)
    .filter((name) => !TELEMETRY.includes(name) && !isDetached(name))
}

/** Reads a whole table and its indexes, and compares them. Returns SQLite's description of the problem, or null. */
export function checkTable({ connection }: ReaderTools, table: string): string | null {
  // a new connection, because this one does not read pages in its cache again
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
 * Compares `count` pages of the file, starting with page `first`, with their checksums. Returns the numbers of the
 * pages that differ, and whether there are more pages. A page with one wrong bit does not count, because `repairPages`
 * corrects it. The write-ahead log may have a newer copy of such a page. Null if there are no checksums.
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
