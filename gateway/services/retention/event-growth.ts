import type { Events } from '#gateway/events.ts'
import type { Component } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import { HOUR_MS } from '#shared/time.ts'

interface EventGrowthDeps {
  events: Pick<Events, 'on'>
  log: Log
}

/** Normal number of lock events of one device in an hour, whatever the others store. */
const FEW = 1_000

/**
 * Warns once an hour of a device that stored most of the lock events: even within its budget, a faulty or stolen device
 * can fill the disk with rows that stay until retention deletes them.
 */
export class EventGrowth implements Component {
  readonly #log: Log
  readonly #byDevice = new Map<string, number>()
  #total = 0
  #timer: NodeJS.Timeout | undefined

  constructor({ events, log }: EventGrowthDeps) {
    this.#log = log
    events.on('lockChanged', ({ hardwareId }) => this.#count(hardwareId))
  }

  async start(): Promise<void> {
    this.#timer = setInterval(() => this.check(), HOUR_MS)
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
  }

  /** Checks the events stored since the last call, and resets the counts. */
  check(): void {
    const total = this.#total
    for (const [hardwareId, lockEvents] of this.#byDevice) {
      if (lockEvents <= FEW || 2 * lockEvents <= total) continue
      this.#log.warn(
        { hardwareId, lockEvents, lockEventsOfAll: total },
        'one device stored over half of the lock events of the last hour; repair it, or issue a new password',
      )
    }
    this.#byDevice.clear()
    this.#total = 0
  }

  #count(hardwareId: string): void {
    this.#total++
    this.#byDevice.set(hardwareId, (this.#byDevice.get(hardwareId) ?? 0) + 1)
  }
}
