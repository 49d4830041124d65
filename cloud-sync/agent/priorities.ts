/**
 * Decides which lane goes first. Each lane has its own open request, but none begins one while a lane with a lower
 * number has data to send: on a slow network urgent data has the whole bandwidth. Between two requests of a lane the
 * next lane may begin one, so that a long backlog of the first does not block the others.
 */
export class Priorities {
  readonly #busy = new Map<number, number>()
  #waiting: (() => void)[] = []

  /** Runs `work` once no lane with a lower number is busy; rejects if `signal` aborts before. */
  async run<Result>(lane: number, signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    this.#busy.set(lane, (this.#busy.get(lane) ?? 0) + 1)
    try {
      while ([...this.#busy.keys()].some((other) => other < lane)) await this.#change(signal)
      return await work()
    } finally {
      const left = (this.#busy.get(lane) ?? 1) - 1
      if (left === 0) this.#busy.delete(lane)
      else this.#busy.set(lane, left)
      const waiting = this.#waiting
      this.#waiting = []
      for (const resolve of waiting) resolve()
    }
  }

  #change(signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    this.#waiting.push(resolve)
    return promise.finally(() => signal.removeEventListener('abort', abort))
  }
}
