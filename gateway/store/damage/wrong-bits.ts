import type { Connection } from '../db/connection.ts'
import { describeFault, storeFaultCode } from '../db/fault.ts'
import { ownerOfPage } from '../pages/page-owner.ts'
import { TABLES } from '../tables/all.ts'
import type { TableRepair } from './table-repair.ts'

/** Page with one wrong bit in the file. */
interface Corrected {
  page: number
  place: string
  /** Reason why the file is still wrong; null if it was corrected. */
  fault: string | null
}

/**
 * Returns the pages in which reads found one wrong bit, in any thread, since the last correction. The reads themselves
 * returned the correct content (see `pages/extension.c`); the file is still wrong. Empty without checksums.
 */
export function pagesWithWrongBit(connection: Connection): number[] {
  if (!connection.hasPageSums) return []
  const row = connection.get<{ pages: string | null }>('SELECT pages_with_wrong_bit() AS pages')
  return row?.pages ? row.pages.split(',').map(Number) : []
}

/**
 * Corrects those pages in the file, unless they were written in the meantime, and returns the findings. No other thread
 * may run a checkpoint at the same time: only the writer thread and the start may call this.
 */
export function repairPages(writing: Connection): TableRepair[] {
  const corrected = pagesWithWrongBit(writing).flatMap((page) => putRight(writing, page))
  return [...Map.groupBy(corrected, ({ place }) => place)].map(([place, pages]) => describe(place, pages))
}

function putRight(writing: Connection, page: number): Corrected[] {
  const place = placeOf(writing, page)
  try {
    const row = writing.get<{ done: number | null }>('SELECT page_put_right(?) AS done', page)
    // null: more bits are wrong by now, and the next read reports that
    return typeof row?.done === 'number' ? [{ page, place, fault: null }] : []
  } catch (error) {
    if (storeFaultCode(error) === null) throw error
    return [{ page, place, fault: describeFault(error) }]
  }
}

function placeOf(writing: Connection, page: number): string {
  try {
    const owner = ownerOfPage(writing, page)
    return owner === 'sqlite_schema' ? 'schema' : (owner ?? 'file')
  } catch (error) {
    if (storeFaultCode(error) === null) throw error
    return 'file'
  }
}

function describe(place: string, corrected: readonly Corrected[]): TableRepair {
  const pages = corrected.map(({ page }) => page)
  const which = pages.length === 1 ? `page ${pages[0]}` : `each of the pages ${pages.join(', ')}`
  const fault = corrected.find((one) => one.fault !== null)?.fault
  const done =
    fault === undefined
      ? 'it was corrected in the file'
      : `it is corrected whenever it is read, because the file could not be written (${fault})`
  const detail =
    `${nameOf(place)}: One bit of ${which} was wrong on the disk. The checksum shows which, and ${done}; nothing ` +
    'is missing. Check the disk.'
  return { place, outcome: 'mended', detail }
}

function nameOf(place: string): string {
  if (place === 'schema') return 'The list of the tables'
  if (place === 'file') return 'The database, in no table'
  const what = TABLES.get(place)?.care.what
  return what === undefined ? `Table ${place}` : `Table ${place} (${what})`
}
