/** A rate over less than this would be a guess. */
const SHORTEST_MS = 1_000

/**
 * Counts messages and their bytes: adding is all a message costs. Whoever calls `sample` every few seconds makes the
 * rate one over the last one to two of these periods.
 */
export class Meter {
  messages = 0
  bytes = 0
  #last: { messages: number; atMs: number }
  #lastButOne: { messages: number; atMs: number }

  /** Times are of a monotonic clock. */
  constructor(nowMs: number) {
    this.#last = { messages: 0, atMs: nowMs }
    this.#lastButOne = this.#last
  }

  sample(nowMs: number): void {
    this.#lastButOne = this.#last
    this.#last = { messages: this.messages, atMs: nowMs }
  }

  perSecond(nowMs: number): number {
    const { messages, atMs } = this.#lastButOne
    return ((this.messages - messages) * 1000) / Math.max(SHORTEST_MS, nowMs - atMs)
  }
}
