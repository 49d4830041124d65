import { type MonotonicClock, systemClock } from '#shared/time.ts'

/** Allowance that refills at a steady rate and holds one burst. Rate 0 means unlimited. */
export interface Allowance {
  readonly perSecond: number
  readonly burst: number
}

/** Allowance of one budget key. */
export class TokenBucket {
  readonly #clock: MonotonicClock
  readonly #perMs: number
  readonly #burst: number
  #tokens: number
  #atMs: number

  constructor({ perSecond, burst }: Allowance, clock: MonotonicClock = systemClock) {
    this.#clock = clock
    this.#perMs = perSecond / 1000
    this.#burst = burst
    this.#tokens = burst
    this.#atMs = clock.monotonicMs()
  }

  /** Takes `count` if available. More than a burst is taken from a full bucket, into debt. */
  take(count = 1): boolean {
    if (this.waitMs(count) > 0) return false
    this.#tokens -= count
    return true
  }

  /** Takes `count`, into debt if necessary: for work that is done already. */
  spend(count = 1): void {
    this.#tokens -= count
  }

  /** Time until `take` succeeds, in ms. */
  waitMs(count = 1): number {
    if (this.#perMs === 0) return 0
    this.#refill()
    const needed = Math.min(count, this.#burst)
    return this.#tokens >= needed ? 0 : (needed - this.#tokens) / this.#perMs
  }

  isFull(): boolean {
    if (this.#perMs === 0) return true
    this.#refill()
    return this.#tokens >= this.#burst
  }

  #refill(): void {
    const nowMs = this.#clock.monotonicMs()
    this.#tokens = Math.min(this.#burst, this.#tokens + (nowMs - this.#atMs) * this.#perMs)
    this.#atMs = nowMs
  }
}
