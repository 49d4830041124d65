import type { MonotonicClock } from '#shared/time.ts'

const FORKS = 3
const WINDOW_MS = 3_600_000

/** A new epoch sends all data once more: a few in an hour can happen, more point to a fault of a program. */
export class ForkGuard {
  readonly #clock: MonotonicClock
  #takenMs: number[] = []

  constructor(clock: MonotonicClock) {
    this.#clock = clock
  }

  /** False when there were too many within the last hour. */
  take(): boolean {
    const nowMs = this.#clock.monotonicMs()
    this.#takenMs = this.#takenMs.filter((atMs) => nowMs - atMs < WINDOW_MS)
    if (this.#takenMs.length >= FORKS) return false
    this.#takenMs.push(nowMs)
    return true
  }
}
