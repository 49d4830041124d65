/** Upper limits of the delay, in milliseconds. */
export interface BackoffRange {
  readonly firstMs: number
  readonly longestMs: number
}

const FIRST_BACKOFF_MS = 1_000
export const LONGEST_BACKOFF_MS = 300_000

const LEAST_MS = 100

/**
 * Delay after failures: random, up to a ceiling that doubles with each failure ("full jitter"), so that thousands of
 * gateways that lost the hub together do not return together.
 */
export class Backoff {
  readonly #random: () => number
  readonly #firstMs: number
  readonly #longestMs: number
  #failures = 0

  constructor(random: () => number, { firstMs, longestMs }: Partial<BackoffRange> = {}) {
    this.#random = random
    this.#firstMs = firstMs ?? FIRST_BACKOFF_MS
    this.#longestMs = longestMs ?? LONGEST_BACKOFF_MS
  }

  get failures(): number {
    return this.#failures
  }

  /** Returns the delay after one more failure: `leastMs` plus a random part, so that not all clients retry together. */
  nextMs(leastMs = 0, longestMs = this.#longestMs): number {
    const ceilingMs = Math.min(this.#firstMs * 2 ** this.#failures, longestMs, this.#longestMs)
    this.#failures = Math.min(this.#failures + 1, 30)
    return Math.max(LEAST_MS, leastMs + this.#random() * ceilingMs)
  }

  reset(): void {
    this.#failures = 0
  }
}
