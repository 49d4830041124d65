/** Minimum time for a rate; over less it would be a guess. */
const SHORTEST_MS = 1_000

/**
 * Counts messages and their bytes, at the cost of an addition for each message. If `sample` is called every few
 * seconds, the rate is that of the last one to two of these periods.
 */
export class Meter {
  messages = 0
  bytes = 0
  #last: { messages: number; atMs: number }
  #lastButOne: { messages: number; atMs: number }

  /** Times are monotonic. */
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
