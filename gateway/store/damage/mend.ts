import { describeError } from '#shared/errors.ts'
import { typedCommand } from '#shared/typed-command.ts'
import { type Connection, openReader, openUncheckedReader, stopChecking } from '../db/connection.ts'
import { storeFaultCode } from '../db/fault.ts'
import { damagedParts } from './check.ts'
import type { DamageFinding } from './findings.ts'
import { makeIndexAnew } from './index-anew.ts'
import { NumbersAfterLoss } from './numbers.ts'
import { requireReadableDisk } from './readable-disk.ts'
import { type Salvaged, salvageTable } from './repair/salvage.ts'
import { swapRoots } from './swap-roots.ts'
import { TABLES, type TableCare } from './tables.ts'
import { makeTwin } from './twin.ts'
import { isUnreadable } from './unreadable.ts'

export type Mended = Pick<DamageFinding, 'place' | 'outcome' | 'detail'>

/** A database, and how it is opened to be written. */
export interface MendedFile {
  readonly path: string
  readonly openWriter: (path: string) => Connection
}

const ADVICE = `Check the disk, and run ${typedCommand('repair')} when the gateway can be stopped.`
const REPAIR = `Stop the gateway and run ${typedCommand('repair')}.`

/** The table is in the memory of the gateway, which would say something else than the database from now on. */
class RestartNeeded extends Error {}

/**
 * Looks at tables of a database and begins those anew that are damaged, with all rows that can be read. The
 * damaged pages stay in the file, in a table `damaged_TABLE_1`, for `repair`. Nobody else may write meanwhile;
 * readers go on. Says what was found; throws what SQLite throws when the database cannot be written.
 */
export function mendTables(
  { path, openWriter }: MendedFile,
  tables: readonly string[],
  isRunning: boolean,
): Mended[] {
  requireReadableDisk(path)
  const reading = openReader(path)
  // what has checksums of its own is copied in spite of those of its pages
  const unchecked = openUncheckedReader(path)
  const open = (table: string): Connection => {
    const writing = openWriter(path)
    if (TABLES[table]?.hasOwnSums) stopChecking(writing.db)
    writing.db.pragma('foreign_keys = OFF')
    // what the schema says of the place of a table is changed
    writing.db.unsafeMode(true)
    return writing
  }
  try {
    return tables.flatMap((table) => {
      const source = TABLES[table]?.hasOwnSums ? unchecked : reading
      return new Mending({ path, reading, source, open, table, isRunning }).run()
    })
  } finally {
    reading.close()
    unchecked.close()
  }
}

interface MendingDeps {
  path: string
  /** Finds what is damaged. */
  reading: Connection
  /** Is read for the copy. */
  source: Connection
  open: (table: string) => Connection
  table: string
  isRunning: boolean
}

class Mending {
  readonly #deps: MendingDeps
  readonly #care: TableCare

  constructor(deps: MendingDeps) {
    this.#deps = deps
    const care = TABLES[deps.table]
    if (care === undefined) throw new Error(`nothing is known of a table ${deps.table}`)
    this.#care = care
  }

  run(): Mended[] {
    const { reading, table } = this.#deps
    const parts = damagedParts(reading, table, this.#care.size)
    if (parts === 'none') return []
    const writing = this.#deps.open(table)
    try {
      return [parts === 'all' ? this.#beginAnew(writing) : this.#makeIndexesAnew(writing, parts)]
    } catch (error) {
      if (error instanceof RestartNeeded) return [this.#finding('unreadable', error.message)]
      // that of the whole store would be met by every other table as well; a fault of the program would not
      if (!isUnreadable(error) && storeFaultCode(error) !== null) throw error
      const reason = `They are damaged and could not be begun anew (${describeError(error)}).`
      return [this.#finding('unreadable', `${reason} ${REPAIR}`)]
    } finally {
      writing.close()
    }
  }

  #makeIndexesAnew(writing: Connection, indexes: readonly string[]): Mended {
    const { table } = this.#deps
    try {
      writing.db.transaction(() => {
        for (const index of indexes) makeIndexAnew(writing, table, index)
      })()
    } catch (error) {
      // the table may be damaged too, where only its rows show it
      if (!isUnreadable(error) || this.#care.size === 'huge') throw error
      return this.#beginAnew(writing)
    }
    return this.#finding(
      'mended',
      `An index of it was damaged and was made anew; nothing is missing. ${ADVICE}`,
    )
  }

  #beginAnew(writing: Connection): Mended {
    const { reading, table } = this.#deps
    // read before the transaction: a bad page that its connection reads ends it
    const numbers = new NumbersAfterLoss(reading, table)
    const salvaged = writing.db.transaction(() => this.#copyAndSwap(writing, numbers)).immediate()
    const { rows, isComplete } = salvaged
    if (isComplete) {
      return this.#finding('mended', `A page was damaged; all ${rows} rows could be read. ${ADVICE}`)
    }
    const missing = `Damaged pages were put aside: ${rows} rows could be read, and ${describeMissing(salvaged)}.`
    return this.#finding('set_aside', `${missing} ${this.#care.meaning} ${ADVICE}`)
  }

  #copyAndSwap(writing: Connection, numbers: NumbersAfterLoss): Salvaged {
    const { source, table, isRunning } = this.#deps
    const twin = makeTwin(writing, table)
    const salvaged = salvageTable(source, writing, twin.table, table)
    if (!salvaged.isComplete && isRunning && this.#care.isRemembered) {
      const missing = `A page is damaged: ${salvaged.rows} rows can be read, and ${describeMissing(salvaged)}.`
      throw new RestartNeeded(`${missing} Changes of them are refused until the gateway is restarted.`)
    }
    if (!salvaged.isComplete) requireReadableDisk(this.#deps.path)
    swapRoots(writing, twin.pairs)
    if (!salvaged.isComplete) {
      numbers.goOn(writing)
      for (const sql of this.#care.afterLoss ?? []) writing.run(sql)
    }
    return salvaged
  }

  #finding(outcome: DamageFinding['outcome'], text: string): Mended {
    const { table } = this.#deps
    return { place: table, outcome, detail: `Table ${table} (${this.#care.what}): ${text}` }
  }
}

function describeMissing({ unreadable, refused }: Salvaged): string {
  const rows = unreadable.filter((one) => 'key' in one).length + refused.length
  const ranges = unreadable.length + refused.length - rows
  const said = [
    ...(rows === 0 ? [] : [`${rows} ${rows === 1 ? 'row' : 'rows'} could not`]),
    ...(ranges === 0
      ? []
      : [`in ${ranges} ${ranges === 1 ? 'place' : 'places'} an unknown number could not`]),
  ]
  return said.join(', ')
}
