import type { Clock, MonotonicClock } from '#shared/time.ts'

/** A clock that stands still until it is moved. */
export class FakeClock implements Clock, MonotonicClock {
  #nowMs: number
  #monotonicMs = 0

  constructor(nowMs = Date.UTC(2026, 4, 1, 12)) {
    this.#nowMs = nowMs
  }

  nowMs(): number {
    return this.#nowMs
  }

  monotonicMs(): number {
    return this.#monotonicMs
  }

  /** Time goes by. */
  advance(ms: number): void {
    this.#nowMs += ms
    this.#monotonicMs += ms
  }

  /** Somebody sets the clock; no time goes by. */
  set(nowMs: number): void {
    this.#nowMs = nowMs
  }
}
