import { RateLimitedError } from '#shared/errors.ts'
import { type MonotonicClock, systemClock } from '#shared/time.ts'
import { type Allowance, TokenBucket } from './token-bucket.ts'

/** Number of budget keys above which idle ones are dropped. */
const MANY_OWNERS = 1_000

/** Rate limit per budget key, independent of the system clock. */
export class Rates {
  readonly #allowance: Allowance
  readonly #onRefused: () => void
  readonly #clock: MonotonicClock
  readonly #buckets = new Map<string, TokenBucket>()
  #forgetAt = MANY_OWNERS

  constructor(allowance: Allowance, onRefused: () => void = () => undefined, clock: MonotonicClock = systemClock) {
    this.#allowance = allowance
    this.#onRefused = onRefused
    this.#clock = clock
  }

  /** Takes `count`; returns false and takes nothing if the allowance is used up. */
  take(owner: string, count = 1): boolean {
    if (this.#bucketOf(owner).take(count)) return true
    this.#onRefused()
    return false
  }

  /** Takes `count` or throws `rate_limited`, with `things` as the noun of the message. */
  require(owner: string, things: string, count = 1): void {
    if (this.take(owner, count)) return
    const retryAfterS = Math.max(1, Math.ceil(this.waitMs(owner, count) / 1000))
    throw new RateLimitedError(`more than ${this.#allowance.perSecond} ${things} a second`, retryAfterS)
  }

  /** Takes `count`, into debt if necessary: for work that is done already. */
  spend(owner: string, count = 1): void {
    this.#bucketOf(owner).spend(count)
  }

  /** Time that the budget key must wait for its debt, in ms; a positive result counts as a rejection. */
  debtMs(owner: string): number {
    const waitMs = this.waitMs(owner)
    if (waitMs > 0) this.#onRefused()
    return waitMs
  }

  /** Time until `take` succeeds, in ms. */
  waitMs(owner: string, count = 1): number {
    return this.#bucketOf(owner).waitMs(count)
  }

  #bucketOf(owner: string): TokenBucket {
    let bucket = this.#buckets.get(owner)
    if (bucket === undefined) {
      if (this.#buckets.size >= this.#forgetAt) this.#forgetFull()
      bucket = new TokenBucket(this.#allowance, this.#clock)
      this.#buckets.set(owner, bucket)
    }
    return bucket
  }

  /** Drops full buckets: a full bucket equals a new one. */
  #forgetFull(): void {
    for (const [owner, bucket] of this.#buckets) if (bucket.isFull()) this.#buckets.delete(owner)
    this.#forgetAt = Math.max(MANY_OWNERS, 2 * this.#buckets.size)
  }
}
