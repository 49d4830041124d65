import { type Clock, type MonotonicClock, systemClock } from '#shared/time.ts'

/** A clock that stands still until it is moved. */
export class ManualClock implements Clock, MonotonicClock {
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

  /** Somebody sets the clock; no time goes by. */
  set(nowMs: number): void {
    this.#nowMs = nowMs
  }
}

/** The clock of the machine, for what runs by timers. */
export function realClock(): ManualClock {
  const clock = new ManualClock()
  clock.nowMs = () => systemClock.nowMs()
  clock.monotonicMs = () => systemClock.monotonicMs()
  return clock
}
