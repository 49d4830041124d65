import type { Connection } from '../db/connection.ts'
import { describeFault, storeFaultCode } from '../db/fault.ts'
import { ownerOfPage } from '../pages/page-owner.ts'
import { TABLES } from '../tables/all.ts'
import type { TableRepair } from './table-repair.ts'

/** A page of which one bit was wrong in the file. */
interface Corrected {
  page: number
  place: string
  /** Why it is still wrong there; null when it is not. */
  fault: string | null
}

/**
 * Pages of which reads found one bit wrong, in any thread and since the last of them were put right. Whoever read them
 * got what was written (see `pages/extension.c`); in the file they are wrong. None without checksums.
 */
export function pagesWithWrongBit(connection: Connection): number[] {
  if (!connection.hasPageSums) return []
  const row = connection.get<{ pages: string | null }>('SELECT pages_with_wrong_bit() AS pages')
  return row?.pages ? row.pages.split(',').map(Number) : []
}

/**
 * Puts those pages right in the file, unless they were written anew meanwhile, and says which. Nobody may copy the log
 * into the database at the same time: it is for the thread that writes, and for the start.
 */
export function repairPages(writing: Connection): TableRepair[] {
  const corrected = pagesWithWrongBit(writing).flatMap((page) => putRight(writing, page))
  return [...Map.groupBy(corrected, ({ place }) => place)].map(([place, pages]) => describe(place, pages))
}

function putRight(writing: Connection, page: number): Corrected[] {
  const place = placeOf(writing, page)
  try {
    const row = writing.get<{ done: number | null }>('SELECT page_put_right(?) AS done', page)
    // null: more of it is wrong by now, and whoever reads it says so
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
      ? 'it was put right in the file'
      : `it is put right whenever it is read, as the file could not be written (${fault})`
  const detail = `${nameOf(place)}: One bit of ${which} was wrong on the disk. The checksum says which, and ${done}; nothing is missing. Check the disk.`
  return { place, outcome: 'mended', detail }
}

function nameOf(place: string): string {
  if (place === 'schema') return 'The list of the tables'
  if (place === 'file') return 'The database, in no table'
  const what = TABLES.get(place)?.care.what
  return what === undefined ? `Table ${place}` : `Table ${place} (${what})`
}
