import { describeError } from '#shared/errors.ts'
import type { Component } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'

interface TaskOptions {
  /** Average interval: several hubs of one database must not run the task at the same moment. */
  everyMs: number
  /** Returns early when `isStopping` is true. */
  task: (isStopping: () => boolean) => Promise<void>
  /** Message of the log when the task fails. */
  failure: string
  log: Log
}

/** Repeats a task; runs never overlap. A failed run is logged, and the next one tries again. */
export class RepeatedTask implements Component {
  readonly #options: TaskOptions
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> = Promise.resolve()
  #isStopping = false

  constructor(options: TaskOptions) {
    this.#options = options
  }

  async start(): Promise<void> {
    this.#isStopping = false
    this.#schedule()
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    clearTimeout(this.#timer)
    await this.#running
  }

  /** Runs the task now. Never throws. */
  async run(): Promise<void> {
    const { task, failure, log } = this.#options
    try {
      await task(() => this.#isStopping)
    } catch (error) {
      log.warn({ reason: describeError(error) }, failure)
    }
  }

  #schedule(): void {
    const delayMs = this.#options.everyMs * (0.5 + Math.random())
    this.#timer = setTimeout(() => {
      this.#running = this.run().then(() => {
        if (!this.#isStopping) this.#schedule()
      })
    }, delayMs)
  }
}
