import { type Clock, type MonotonicClock, systemClock } from '#shared/time.ts'

/** Clock that stands still until it is moved. */
export class FakeClock implements Clock, MonotonicClock {
  isTrusted = true
  #nowMs: number
  #monotonicMs = 1_000_000

  constructor(nowMs = Date.UTC(2026, 4, 1, 12)) {
    this.#nowMs = nowMs
  }

  nowMs(): number {
    return Math.floor(this.#nowMs)
  }

  monotonicMs(): number {
    return this.#monotonicMs
  }

  /** Advances time. */
  advance(ms: number): void {
    this.#nowMs += ms
    this.#monotonicMs += ms
  }

  /** Sets the clock like an operator; no time passes. */
  set(nowMs: number): void {
    this.#nowMs = nowMs
  }
}

/** Clock of the computer, which a test may set forward or stop. */
export class SetClock implements Clock, MonotonicClock {
  isTrusted = true
  aheadMs = 0
  #frozenMs: number | undefined

  nowMs(): number {
    return this.#frozenMs ?? systemClock.nowMs() + this.aheadMs
  }

  monotonicMs(): number {
    return systemClock.monotonicMs()
  }

  advance(ms: number): void {
    this.aheadMs += ms
  }

  /** Stops the clock at this time until `goOn`. */
  freezeAt(nowMs: number): void {
    this.#frozenMs = nowMs
  }

  goOn(): void {
    this.#frozenMs = undefined
  }
}
