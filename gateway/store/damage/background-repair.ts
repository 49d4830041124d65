import { requireReadableDisk } from '../db/readable-disk.ts'
import { tablesOfSize, unattributedDamage } from './start.ts'
import { type RepairTarget, repairTables, type TableRepair } from './table-repair.ts'

/** Pause after a pass that found no damage, because each pass reads all tables except the history. */
const PAUSE_MS = 60_000

/** Checks for damage while the gateway runs, in the writer thread. */
export class BackgroundRepair {
  readonly #file: RepairTarget
  #nextAtMs = 0

  constructor(file: RepairTarget) {
    this.#file = file
  }

  /** Repairs damage after `fault`, see `repairTables`. Does nothing shortly after a pass without damage. */
  repair(fault: string): TableRepair[] {
    requireReadableDisk(this.#file.path)
    if (performance.now() < this.#nextAtMs) return []
    const found = repairTables(this.#file, tablesOfSize('small', 'large', 'huge'), true)
    const isRepaired = found.some(({ outcome }) => outcome !== 'unreadable')
    if (!isRepaired) this.#nextAtMs = performance.now() + PAUSE_MS
    return found.length === 0 ? [unattributedDamage(fault)] : found
  }
}
