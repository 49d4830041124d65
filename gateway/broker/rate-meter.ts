/** Minimum time for a rate; over less it would be a guess. */
const SHORTEST_MS = 1_000

/** Counts messages and bytes, one addition each. Sampled every few seconds, rates cover the last one to two periods. */
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
