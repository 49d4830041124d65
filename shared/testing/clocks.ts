import { type Clock, type MonotonicClock, systemClock } from '#shared/time.ts'

/** A clock that stands still until it is moved. */
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

  /** Time goes by. */
  advance(ms: number): void {
    this.#nowMs += ms
    this.#monotonicMs += ms
  }

  /** An operator sets the clock; no time goes by. */
  set(nowMs: number): void {
    this.#nowMs = nowMs
  }
}

/** The clock of the machine, which a test may set forward or stop. */
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

  /** It is this late until `goOn`. */
  freezeAt(nowMs: number): void {
    this.#frozenMs = nowMs
  }

  goOn(): void {
    this.#frozenMs = undefined
  }
}
