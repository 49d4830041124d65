import type { Database } from '#hub/store/database/database.ts'
import { compactSegments, isDue } from '#hub/store/telemetry/compactor.ts'
import { segmentBacklogs } from '#hub/store/telemetry/segments.ts'
import { describeError } from '#shared/errors.ts'
import type { Part } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import type { Clock } from '#shared/time.ts'

const CHECK_EVERY_MS = 20_000

/** Compacts the segments of a site into blocks when there are enough of them. */
export class Compaction implements Part {
  readonly #database: Database
  readonly #clock: Clock
  readonly #log: Log
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> = Promise.resolve()
  #isStopping = false

  constructor(database: Database, clock: Clock, log: Log) {
    this.#database = database
    this.#clock = clock
    this.#log = log
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

  /** Compacts now. Logs a failure; the next run tries again. */
  async run(): Promise<void> {
    try {
      const due = (await segmentBacklogs(this.#database)).filter((site) => isDue(site, this.#clock.nowMs()))
      for (const { siteId } of due) {
        // segments that arrive meanwhile wait for the next run
        let left = true
        while (left && !this.#isStopping) {
          left = (await compactSegments(this.#database, siteId, this.#clock.nowMs())) > 1
        }
      }
    } catch (error) {
      this.#log.warn({ reason: describeError(error) }, 'cannot compact segments into blocks; retrying later')
    }
  }

  // a random delay, so that several hubs of one database do not compact at the same moment
  #schedule(): void {
    const delayMs = CHECK_EVERY_MS * (0.5 + Math.random())
    this.#timer = setTimeout(() => {
      this.#running = this.run().then(() => {
        if (!this.#isStopping) this.#schedule()
      })
    }, delayMs)
  }
}
