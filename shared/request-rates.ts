import { RateLimitedError } from './errors.ts'
import type { MonotonicClock } from './time.ts'
import { TokenBucket } from './token-bucket.ts'

/** Holds each caller to its request rate, independent of the system clock. */
export class RequestRates {
  readonly #clock: MonotonicClock
  readonly #requestsPerSecond: number
  readonly #buckets = new Map<string, TokenBucket>()

  /** `requestsPerSecond` 0 is no limit; bursts of four times that are allowed. */
  constructor(clock: MonotonicClock, requestsPerSecond: number) {
    this.#clock = clock
    this.#requestsPerSecond = requestsPerSecond
  }

  /** Counts one request; throws when it is one too many. */
  take(caller: string): void {
    const perSecond = this.#requestsPerSecond
    if (perSecond === 0) return
    let bucket = this.#buckets.get(caller)
    if (bucket === undefined) {
      bucket = new TokenBucket({ perSecond, burst: 4 * perSecond }, this.#clock)
      this.#buckets.set(caller, bucket)
    }
    if (bucket.take()) return
    const retryAfterS = Math.max(1, Math.ceil(bucket.waitMs() / 1000))
    throw new RateLimitedError(`more than ${perSecond} requests a second`, retryAfterS)
  }
}
