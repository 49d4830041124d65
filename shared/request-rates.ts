import { RateLimitedError } from './errors.ts'
import type { MonotonicClock } from './time.ts'

interface Bucket {
  tokens: number
  atMs: number
}

/** Holds each caller to its request rate, whatever the clock is set to: token buckets that hold one burst. */
export class RequestRates {
  readonly #clock: MonotonicClock
  readonly #requestsPerSecond: number
  readonly #buckets = new Map<string, Bucket>()

  /** `requestsPerSecond` 0 is no limit; bursts of four times that are allowed. */
  constructor(clock: MonotonicClock, requestsPerSecond: number) {
    this.#clock = clock
    this.#requestsPerSecond = requestsPerSecond
  }

  /** Counts one request; throws when it is one too many. */
  take(caller: string): void {
    const rate = this.#requestsPerSecond
    if (rate === 0) return
    const burst = 4 * rate
    const nowMs = this.#clock.monotonicMs()
    const bucket = this.#buckets.get(caller) ?? { tokens: burst, atMs: nowMs }
    const elapsedS = (nowMs - bucket.atMs) / 1000
    bucket.tokens = Math.min(burst, bucket.tokens + elapsedS * rate)
    bucket.atMs = nowMs
    this.#buckets.set(caller, bucket)
    if (bucket.tokens < 1) {
      throw new RateLimitedError(
        `more than ${rate} requests a second`,
        Math.max(1, Math.ceil((1 - bucket.tokens) / rate)),
      )
    }
    bucket.tokens--
  }
}
