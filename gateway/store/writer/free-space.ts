import type { WriterConnection } from './connection.ts'

/** Free space kept for later writes: 4 MB. */
const MIN_FREE_PAGES = 1000
/** Pages returned in one step: some milliseconds of work and one sync. */
const STEP_PAGES = 128
/** Minimum time between two steps; they also take at most a fifth of the thread's time. */
const STEP_PAUSE_MS = 50
const PAUSE_PER_WORK = 4
/** Free space that still grows belongs to a deletion in progress: most pages to move are about to be deleted. */
const GROWING_PAUSE_MS = 1000

/**
 * Returns the space of deleted rows to the file system, in small steps between other work. Moving pages to the front of
 * the file costs as much as writing them, so a small amount of free space is left to be reused.
 */
export class FreeSpace {
  readonly #connection: Pick<WriterConnection, 'freePages' | 'giveBack'>
  #seenPages = 0
  #isShrinking = false
  #isPossible = true

  constructor(connection: Pick<WriterConnection, 'freePages' | 'giveBack'>) {
    this.#connection = connection
  }

  /** Runs one step if it is due. Returns the time in ms until the next one; null for after the next write. */
  step(): number | null {
    const freePages = this.#connection.freePages()
    const isGrowing = freePages > this.#seenPages
    this.#seenPages = freePages
    if (!this.#isPossible || freePages === 0) this.#isShrinking = false
    else if (isGrowing) this.#isShrinking = false
    else if (freePages >= MIN_FREE_PAGES) this.#isShrinking = true
    if (!this.#isShrinking) return this.#isPossible && freePages >= MIN_FREE_PAGES ? GROWING_PAUSE_MS : null
    const startedAtMs = performance.now()
    this.#seenPages = this.#connection.giveBack(STEP_PAGES)
    // a file that another program created may not support it
    this.#isPossible = this.#seenPages < freePages
    return Math.max(STEP_PAUSE_MS, (performance.now() - startedAtMs) * PAUSE_PER_WORK)
  }
}
