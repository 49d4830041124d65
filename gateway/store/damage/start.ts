import { typedCommand } from '#shared/typed-command.ts'
import { type Connection, openReader } from '../db/connection.ts'
import { isDetached, originOf } from '../db/detached.ts'
import { describeFault, isDamage, storeFaultCode } from '../db/fault.ts'
import { TABLES } from '../tables/all.ts'
import { quarantineUnparseable } from './contents.ts'
import { keepSpareRoots } from './spare-roots.ts'
import { type RepairTarget, repairTables, type TableRepair } from './table-repair.ts'

/**
 * Makes the database fit for a start: what is small is checked whole, of the rest `reads`, which a start does. What is
 * damaged is begun anew with what can be read, see `repairTables`. Says what was found.
 */
export function repairAtStart(file: RepairTarget, reads: readonly ((reading: Connection) => unknown)[]): TableRepair[] {
  const found = [
    ...detachedBefore(file),
    ...repairTables(file, tablesOfSize('small'), false),
    ...repairUnparseable(file),
  ]
  const fault = faultOf(file, [...reads, newestBlocks])
  if (fault === null) {
    write(file, keepSpareRoots)
    return found
  }
  const more = repairTables(file, tablesOfSize('large', 'huge'), false)
  return [...found, ...(more.length === 0 ? [unattributedDamage(fault)] : more)]
}

/** Tables with pages or rows that were put aside, now or before. */
export function detachedTables(reading: Connection): string[] {
  return reading
    .all<{ name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    .map(({ name }) => name)
    .filter(isDetached)
}

function detachedBefore({ path }: RepairTarget): TableRepair[] {
  const reading = openReader(path)
  try {
    return [...Map.groupBy(detachedTables(reading), originOf)].map(([place, names]) => {
      const what = TABLES.get(place)?.care.what ?? place
      const detail = `Table ${place} (${what}): Damaged pages or rows of it were put aside before (${names.join(', ')}). ${typedCommand('repair')} makes a database without them, of all that can be read.`
      return { place, outcome: 'set_aside', detail }
    })
  } finally {
    reading.close()
  }
}

/** All tables of these sizes, in the order in which they are mended. */
export function tablesOfSize(...sizes: string[]): string[] {
  return [...TABLES.values()].filter(({ care }) => sizes.includes(care.size ?? 'small')).map(({ name }) => name)
}

/** Damage that something met and that no check of the tables finds. */
export function unattributedDamage(fault: string): TableRepair {
  const detail = `A page that is damaged is in the way (${fault}): it is in the history of telemetry, or in no table. What needs it is refused, the rest goes on. Stop the gateway and run ${typedCommand('repair')}.`
  return { place: 'file', outcome: 'unreadable', detail }
}

function repairUnparseable(file: RepairTarget): TableRepair[] {
  try {
    return write(file, quarantineUnparseable)
  } catch (error) {
    const code = storeFaultCode(error)
    if (!isDamage(code)) throw error
    return [unattributedDamage(describeFault(error))]
  }
}

function write<Result>({ path, openWriter }: RepairTarget, act: (writing: Connection) => Result): Result {
  const writing = openWriter(path)
  try {
    return act(writing)
  } finally {
    writing.close()
  }
}

// of tables that are not checked
function faultOf({ path }: RepairTarget, reads: readonly ((reading: Connection) => unknown)[]): string | null {
  const reading = openReader(path)
  try {
    for (const read of reads) read(reading)
    return null
  } catch (error) {
    if (!isDamage(storeFaultCode(error))) throw error
    return describeFault(error)
  } finally {
    reading.close()
  }
}

// by the index alone
function newestBlocks(reading: Connection): unknown {
  return reading.all(
    `SELECT (SELECT max(first_ms) FROM telemetry_block b
       WHERE b.device_id = d.device_id AND b.stream = s.stream)
     FROM device d, (SELECT 'gps' AS stream UNION ALL SELECT 'battery') s`,
  )
}
