import type { MonotonicClock } from '#shared/time.ts'

const FORKS = 3
const WINDOW_MS = 3_600_000

/** Limits new epochs: each sends all data again. A few within an hour can happen, more indicate a program fault. */
export class ForkGuard {
  readonly #clock: MonotonicClock
  #takenMs: number[] = []

  constructor(clock: MonotonicClock) {
    this.#clock = clock
  }

  /** Returns false if there were too many within the last hour. */
  take(): boolean {
    const nowMs = this.#clock.monotonicMs()
    this.#takenMs = this.#takenMs.filter((atMs) => nowMs - atMs < WINDOW_MS)
    if (this.#takenMs.length >= FORKS) return false
    this.#takenMs.push(nowMs)
    return true
  }
}
