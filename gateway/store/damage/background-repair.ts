import { requireReadableDisk } from './readable-disk.ts'
import { tablesOfSize, unattributedDamage } from './start.ts'
import { type RepairTarget, repairTables, type TableRepair } from './table-repair.ts'

/** After a look that found nothing to mend, the next comes so much later: it reads all tables but the history. */
const PAUSE_MS = 60_000

/** Looks for damage while the gateway runs, in the thread that writes. */
export class BackgroundRepair {
  readonly #file: RepairTarget
  #nextAtMs = 0

  constructor(file: RepairTarget) {
    this.#file = file
  }

  /**
   * Mends what it can, see `repairTables`, because of a fault that something met. Nothing shortly after a look in vain.
   */
  repair(fault: string): TableRepair[] {
    requireReadableDisk(this.#file.path)
    if (performance.now() < this.#nextAtMs) return []
    const found = repairTables(this.#file, tablesOfSize('small', 'large', 'huge'), true)
    const isMended = found.some(({ outcome }) => outcome !== 'unreadable')
    if (!isMended) this.#nextAtMs = performance.now() + PAUSE_MS
    return found.length === 0 ? [unattributedDamage(fault)] : found
  }
}
