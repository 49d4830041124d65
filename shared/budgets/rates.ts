import { RateLimitedError } from '#shared/errors.ts'
import { type MonotonicClock, systemClock } from '#shared/time.ts'
import { type Allowance, TokenBucket } from './token-bucket.ts'

/** Owners past which those who have used nothing for a while are forgotten. */
const MANY_OWNERS = 1_000

/** Holds each owner to its rate of something, whatever the system clock is set to. */
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

  /** Takes so many of the owner's; false, and nothing is taken, when it has used up its allowance. */
  take(owner: string, count = 1): boolean {
    if (this.#bucketOf(owner).take(count)) return true
    this.#onRefused()
    return false
  }

  /** The same as an error: throws `rate_limited`, naming what there were too many of. */
  require(owner: string, things: string, count = 1): void {
    if (this.take(owner, count)) return
    const retryAfterS = Math.max(1, Math.ceil(this.waitMs(owner, count) / 1000))
    throw new RateLimitedError(`more than ${this.#allowance.perSecond} ${things} a second`, retryAfterS)
  }

  /** Takes so many of the owner's, into debt if need be: for what has happened already. */
  spend(owner: string, count = 1): void {
    this.#bucketOf(owner).spend(count)
  }

  /** How long the owner is to be made to wait for what it has spent; counted when it has to. */
  debtMs(owner: string): number {
    const waitMs = this.waitMs(owner)
    if (waitMs > 0) this.#onRefused()
    return waitMs
  }

  /** How long until `take` takes so many of the owner's. */
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

  /** A full bucket is as good as a new one. */
  #forgetFull(): void {
    for (const [owner, bucket] of this.#buckets) if (bucket.isFull()) this.#buckets.delete(owner)
    this.#forgetAt = Math.max(MANY_OWNERS, 2 * this.#buckets.size)
  }
}
