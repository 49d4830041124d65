import { SerialQueue } from '#shared/budgets/serial-queue.ts'
import { describeError } from '#shared/errors.ts'
import type { Log } from '#shared/log.ts'
import { Backoff } from './backoff.ts'

interface LoopDeps {
  readonly name: string
  /** Does the work that is due; returns the delay until the next step, in ms. */
  readonly step: (signal: AbortSignal) => Promise<number>
  readonly random: () => number
  readonly log: Log
}

/** Timers cannot wait longer than 24 days, and a step without work costs nothing. */
const LONGEST_MS = 60_000

/** Repeats a step after the delay that the last one returned, or immediately when woken. Logs errors and backs off. */
export class Loop {
  readonly #deps: LoopDeps
  readonly #turns = new SerialQueue()
  readonly #backoff: Backoff
  #stopping = new AbortController()
  #timer: NodeJS.Timeout | undefined
  #isRunning = false
  #isWoken = false

  constructor(deps: LoopDeps) {
    this.#deps = deps
    this.#backoff = new Backoff(deps.random)
  }

  start(): void {
    this.#stopping = new AbortController()
    this.#isRunning = true
    this.#schedule(0)
  }

  /** Aborts the running step. */
  async stop(): Promise<void> {
    this.#isRunning = false
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#stopping.abort()
    await this.#turns.idle()
  }

  /** Starts a step now, or right after the running one. */
  wake(): void {
    this.#isWoken = true
    if (this.#timer !== undefined) this.#schedule(0)
  }

  /** Runs one step, after a running one. Returns the delay until the next one, in ms. */
  runOnce(): Promise<number> {
    return this.#turns.take(async () => {
      const { signal } = this.#stopping
      try {
        const nextMs = await this.#deps.step(signal)
        this.#backoff.reset()
        return nextMs
      } catch (error) {
        const nextMs = this.#backoff.nextMs()
        const { name, log } = this.#deps
        if (!signal.aborted)
          log.warn({ lane: name, reason: describeError(error) }, 'replication lane failed; will retry')
        return nextMs
      }
    })
  }

  #schedule(ms: number): void {
    clearTimeout(this.#timer)
    if (!this.#isRunning) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#isWoken = false
      void this.runOnce().then((nextMs) => this.#schedule(this.#isWoken ? 0 : Math.min(nextMs, LONGEST_MS)))
    }, ms)
  }
}
