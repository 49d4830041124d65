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

/** Repeats a task; runs never overlap. The next one tries again; runs that fail alike are one line of the log. */
export class RepeatedTask implements Component {
  readonly #options: TaskOptions
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> = Promise.resolve()
  #isStopping = false
  /** Reason for which the last run failed; null if it succeeded. */
  #reason: string | null = null

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
      if (this.#reason !== null) log.info({ after: failure }, 'succeeded again')
      this.#reason = null
    } catch (error) {
      const reason = describeError(error)
      if (reason !== this.#reason) log.warn({ reason }, failure)
      this.#reason = reason
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
