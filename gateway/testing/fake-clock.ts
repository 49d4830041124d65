import type { Clock } from '../../shared/time.ts'

/** A clock that stands still until it is moved. */
export class FakeClock implements Clock {
  #nowMs: number

  constructor(nowMs = Date.UTC(2026, 4, 1, 12)) {
    this.#nowMs = nowMs
  }

  nowMs(): number {
    return this.#nowMs
  }

  advance(ms: number): void {
    this.#nowMs += ms
  }

  set(nowMs: number): void {
    this.#nowMs = nowMs
  }
}
