import { type Mended, type MendedFile, mendTables } from './mend.ts'
import { requireReadableDisk } from './readable-disk.ts'
import { tablesOfSize, unplaced } from './start.ts'

/** After a look that found nothing to mend, the next comes so much later: it reads all tables but the history. */
const PAUSE_MS = 60_000

/** Looks for damage while the gateway runs, in the thread that writes. */
export class RunningMender {
  readonly #file: MendedFile
  #nextAtMs = 0

  constructor(file: MendedFile) {
    this.#file = file
  }

  /**
   * Mends what it can, see `mendTables`, because of a fault that something met. Nothing shortly after a look in vain.
   */
  mend(fault: string): Mended[] {
    requireReadableDisk(this.#file.path)
    if (performance.now() < this.#nextAtMs) return []
    const found = mendTables(this.#file, tablesOfSize('small', 'large', 'huge'), true)
    const isMended = found.some(({ outcome }) => outcome !== 'unreadable')
    if (!isMended) this.#nextAtMs = performance.now() + PAUSE_MS
    return found.length === 0 ? [unplaced(fault)] : found
  }
}
