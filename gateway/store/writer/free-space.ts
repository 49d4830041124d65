import type { WriterConnection } from './connection.ts'

/** Less free space than this is kept for what is written next: 4 MB. */
const MIN_FREE_PAGES = 1000
/** Pages given back at a time: some milliseconds of work and one sync. */
const STEP_PAGES = 128
/** At most one step in so long, and at most a fifth of the thread's time. */
const STEP_PAUSE_MS = 50
const PAUSE_PER_WORK = 4
/** Free space that still grows belongs to a deletion under way: most of what would be moved is about to go itself. */
const GROWING_PAUSE_MS = 1000

/**
 * Gives the space of deleted rows back to the file system, a little at a time between other work. Moving pages to the
 * front of the file costs as much as writing them, so a little that is free is left to be used again.
 */
export class FreeSpace {
  readonly #connection: Pick<WriterConnection, 'freePages' | 'giveBack'>
  #seenPages = 0
  #isShrinking = false
  #isPossible = true

  constructor(connection: Pick<WriterConnection, 'freePages' | 'giveBack'>) {
    this.#connection = connection
  }

  /** Does one step, if one is due. Returns in how many milliseconds to come again; null: after the next write. */
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
    // a file that was not made by this program may not be able to
    this.#isPossible = this.#seenPages < freePages
    return Math.max(STEP_PAUSE_MS, (performance.now() - startedAtMs) * PAUSE_PER_WORK)
  }
}
