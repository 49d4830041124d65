import { describeError } from '#shared/errors.ts'
import { typedCommand } from '#shared/typed-command.ts'
import { type Connection, openReader, openUncheckedReader, stopChecking } from '../db/connection.ts'
import { storeFaultCode } from '../db/fault.ts'
import { requireReadableDisk } from '../db/readable-disk.ts'
import type { TableCare } from '../db/table.ts'
import { TABLES } from '../tables/all.ts'
import { type DamagedParts, damagedParts } from './check.ts'
import type { DamageFinding } from './findings.ts'
import { rebuildIndex } from './rebuild-index.ts'
import { type RecoveredRows, recoverTable } from './recover-table.ts'
import { createReplacementTable } from './replacement-table.ts'
import { SequenceRecovery } from './sequence-recovery.ts'
import { inAnyPlace } from './spare-roots.ts'
import { swapRoots } from './swap-roots.ts'
import { isUnreadable } from './unreadable.ts'

export type TableRepair = Pick<DamageFinding, 'place' | 'outcome' | 'detail'>

export interface RepairTarget {
  readonly path: string
  readonly openWriter: (path: string) => Connection
}

const ADVICE = `Check the disk, and run ${typedCommand('repair')} when the gateway can be stopped.`
const REPAIR = `Stop the gateway and run ${typedCommand('repair')}.`

/** Thrown if the gateway holds the table in memory, which would differ from the database from now on. */
class RestartNeeded extends Error {}

/**
 * Checks tables of a database and rebuilds damaged ones from their readable rows. The damaged pages stay in the file,
 * in a table `damaged_TABLE_1`, for `repair`. No other connection may write at the same time; reads continue. Returns
 * the findings; throws the errors of SQLite if the database cannot be written.
 */
export function repairTables(file: RepairTarget, tables: readonly string[], isRunning: boolean): TableRepair[] {
  requireReadableDisk(file.path)
  const reading = openReader(file.path)
  // tables with checksums of their own are copied despite wrong checksums of their pages
  const unchecked = openUncheckedReader(file.path)
  const mendingOf = (table: string) => new Mending({ file, reading, unchecked, table, isRunning })
  try {
    const mendings = tables.map(mendingOf)
    const found = mendings.flatMap((mending) => mending.repair())
    return mendings.some(({ isStuck }) => isStuck)
      ? repairTogether(file, [...TABLES.keys()].map(mendingOf), found)
      : found
  } finally {
    reading.close()
    unchecked.close()
  }
}

/** Rebuilds remaining damaged tables in one transaction: what follows the loss of rows in one may need the others. */
function repairTogether(
  file: RepairTarget,
  mendings: readonly Mending[],
  found: readonly TableRepair[],
): TableRepair[] {
  const left = mendings.filter((mending) => mending.isDamaged())
  try {
    const repaired = startAgain(file, left, true)
    const isRepaired = (place: string) => repaired.some((one) => one.place === place)
    return [...found.filter(({ place }) => !isRepaired(place)), ...repaired]
  } catch (error) {
    if (isOfStore(error)) throw error
    return [...found]
  }
}

/** True for errors that every other table would meet too, unlike a fault of the program. */
function isOfStore(error: unknown): boolean {
  return !isUnreadable(error) && storeFaultCode(error) !== null
}

/** Rebuilds tables in one transaction. */
function startAgain(file: RepairTarget, mendings: readonly Mending[], checksPages: boolean): TableRepair[] {
  return changeSchema(file, checksPages, (writing, takesSpares) => {
    const finishes = mendings.map((mending) => mending.begin(writing, takesSpares))
    return finishes.map((finish) => finish())
  })
}

function changeSchema<Result>(
  { path, openWriter }: RepairTarget,
  checksPages: boolean,
  change: (writing: Connection, takesSpares: boolean) => Result,
): Result {
  return inAnyPlace((takesSpares) => {
    const writing = openWriter(path)
    try {
      if (!checksPages) stopChecking(writing.db)
      writing.db.pragma('foreign_keys = OFF')
      // permits changes of root pages in the schema
      writing.db.unsafeMode(true)
      return writing.db.transaction(() => change(writing, takesSpares)).immediate()
    } finally {
      writing.close()
    }
  })
}

interface MendingDeps {
  file: RepairTarget
  /** Connection that finds the damage. */
  reading: Connection
  /** Connection for the copy of tables with checksums of their own. */
  unchecked: Connection
  table: string
  isRunning: boolean
}

class Mending {
  /** True if damage has prevented the repair. */
  isStuck = false
  readonly #deps: MendingDeps
  readonly #care: TableCare

  constructor(deps: MendingDeps) {
    this.#deps = deps
    const care = TABLES.get(deps.table)?.care
    if (care === undefined) throw new Error(`unknown table ${deps.table}`)
    this.#care = care
  }

  /** True if the table is damaged and can be rebuilt. */
  isDamaged(): boolean {
    return this.#care.size !== 'huge' && this.#damagedParts() !== 'none'
  }

  repair(): TableRepair[] {
    const parts = this.#damagedParts()
    if (parts === 'none') return []
    try {
      return parts === 'all' ? this.#startAgain() : this.#rebuildIndexes(parts)
    } catch (error) {
      if (error instanceof RestartNeeded) return [this.#finding('unreadable', error.message)]
      if (isOfStore(error)) throw error
      this.isStuck = isUnreadable(error)
      const reason = `They are damaged and could not be rebuilt (${describeError(error)}).`
      return [this.#finding('unreadable', `${reason} ${REPAIR}`)]
    }
  }

  /** Copies readable rows and swaps; the returned function handles missing rows. The caller holds the transaction. */
  begin(writing: Connection, takesSpares: boolean): () => TableRepair {
    const { file, reading, unchecked, table, isRunning } = this.#deps
    // not read by the writing connection: reading a damaged page would roll back its transaction
    const numbers = new SequenceRecovery(reading, table)
    const replacement = createReplacementTable(writing, table, takesSpares)
    const source = this.#care.hasOwnSums ? unchecked : reading
    const recovered = recoverTable(source, writing, replacement.table, table)
    if (!recovered.isComplete && isRunning && this.#care.isRemembered) {
      const missing = `A page is damaged: ${recovered.rows} rows can be read, and ${describeMissing(recovered)}.`
      throw new RestartNeeded(`${missing} Changes of them are refused until the gateway is restarted.`)
    }
    if (!recovered.isComplete) requireReadableDisk(file.path)
    swapRoots(writing, replacement.pairs)
    return () => this.#finish(writing, recovered, numbers)
  }

  #damagedParts(): DamagedParts {
    return damagedParts(this.#deps.reading, this.#deps.table, this.#care.size)
  }

  #rebuildIndexes(indexes: readonly string[]): TableRepair[] {
    const { file, table } = this.#deps
    try {
      changeSchema(file, this.#checksPages, (writing, takesSpares) => {
        for (const index of indexes) rebuildIndex(writing, table, index, takesSpares)
      })
    } catch (error) {
      // the table may be damaged too, in a way that only its rows show
      if (!isUnreadable(error) || this.#care.size === 'huge') throw error
      return this.#startAgain()
    }
    const text = `An index was damaged and was rebuilt; nothing is missing. ${ADVICE}`
    return [this.#finding('mended', text)]
  }

  #startAgain(): TableRepair[] {
    return startAgain(this.#deps.file, [this], this.#checksPages)
  }

  get #checksPages(): boolean {
    return this.#care.hasOwnSums === undefined
  }

  #finish(writing: Connection, recovered: RecoveredRows, numbers: SequenceRecovery): TableRepair {
    const { rows, isComplete } = recovered
    if (isComplete) {
      return this.#finding('mended', `A page was damaged; all ${rows} rows could be read. ${ADVICE}`)
    }
    numbers.goOn(writing)
    for (const sql of this.#care.afterLoss ?? []) writing.run(sql)
    const missing = `Damaged pages were isolated: ${rows} rows could be read, and ${describeMissing(recovered)}.`
    return this.#finding('set_aside', `${missing} ${this.#care.meaning} ${ADVICE}`)
  }

  #finding(outcome: DamageFinding['outcome'], text: string): TableRepair {
    const { table } = this.#deps
    return { place: table, outcome, detail: `Table ${table} (${this.#care.what}): ${text}` }
  }
}

function describeMissing({ unreadable, refused }: RecoveredRows): string {
  const rows = unreadable.filter((one) => 'key' in one).length + refused.length
  const ranges = unreadable.length + refused.length - rows
  const parts = [
    ...(rows === 0 ? [] : [`${rows} ${rows === 1 ? 'row' : 'rows'} could not`]),
    ...(ranges === 0 ? [] : [`in ${ranges} ${ranges === 1 ? 'place' : 'places'} an unknown number could not`]),
  ]
  return parts.join(', ')
}
