import { typedCommand } from '#shared/typed-command.ts'
import { type Connection, openReader } from '../db/connection.ts'
import { isDetached, originOf } from '../db/detached.ts'
import { describeFault, isDamage, storeFaultCode } from '../db/fault.ts'
import { TABLES } from '../tables/all.ts'
import { quarantineUnparseable } from './contents.ts'
import { keepSpareRoots } from './spare-roots.ts'
import { type RepairTarget, repairTables, type TableRepair } from './table-repair.ts'

/**
 * Prepares the database for a start: checks small tables completely, and of the others what `reads`, the reads of a
 * start, need. Damaged tables are rebuilt from their readable rows, see `repairTables`. Returns the findings.
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

/** Returns the tables with detached pages or rows, from this start or an earlier one. */
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
      const detail =
        `Table ${place} (${what}): Damaged pages or rows were isolated earlier (${names.join(', ')}). ` +
        `${typedCommand('repair')} creates a database without them, from all readable data.`
      return { place, outcome: 'set_aside', detail }
    })
  } finally {
    reading.close()
  }
}

/** Returns all tables of these sizes, in the order of their repair. */
export function tablesOfSize(...sizes: string[]): string[] {
  return [...TABLES.values()].filter(({ care }) => sizes.includes(care.size ?? 'small')).map(({ name }) => name)
}

/** Returns the finding for damage that a component has met but no check of the tables finds. */
export function unattributedDamage(fault: string): TableRepair {
  const detail =
    `A damaged page was read (${fault}): it belongs to the telemetry history, or to no table. Requests that need ` +
    `it fail, all others succeed. Stop the gateway and run ${typedCommand('repair')}.`
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

// for tables that are not checked
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

// reads the index only
function newestBlocks(reading: Connection): unknown {
  return reading.all(
    `SELECT (SELECT max(first_ms) FROM telemetry_block b
       WHERE b.device_id = d.device_id AND b.stream = s.stream)
     FROM device d, (SELECT 'gps' AS stream UNION ALL SELECT 'battery') s`,
  )
}
