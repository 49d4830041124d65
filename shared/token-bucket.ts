import { type MonotonicClock, systemClock } from './time.ts'

/** An allowance that refills at a steady rate and holds one burst. Rate 0 is no limit. */
export class TokenBucket {
  readonly #clock: MonotonicClock
  readonly #perMs: number
  readonly #burst: number
  #tokens: number
  #atMs: number

  constructor(
    { perSecond, burst }: { perSecond: number; burst: number },
    clock: MonotonicClock = systemClock,
  ) {
    this.#clock = clock
    this.#perMs = perSecond / 1000
    this.#burst = burst
    this.#tokens = burst
    this.#atMs = clock.monotonicMs()
  }

  /** Takes one if there is one. */
  take(): boolean {
    if (this.waitMs() > 0) return false
    this.#tokens--
    return true
  }

  /** Takes one, into debt if need be: for what has happened already. */
  spend(): void {
    this.#tokens--
  }

  /** How long until there is one. */
  waitMs(): number {
    if (this.#perMs === 0) return 0
    this.#refill()
    return this.#tokens >= 1 ? 0 : (1 - this.#tokens) / this.#perMs
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
