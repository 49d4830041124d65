import { setTimeout as wait } from 'node:timers/promises'
import { describeError } from '#shared/errors.ts'
import type { Component } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import { DAY_MS, MINUTE_MS, type MonotonicClock, toIso } from '#shared/time.ts'
import type { Store } from '#store/store.ts'
import type { TimestampTrustLimiter } from '../clock/timestamp-trust-limiter.ts'
import type { DeletionPause } from './deletion.ts'

interface RetentionDeps<Deleted extends { [Kind in keyof Deleted]: number }> {
  /** Name of the deleted data, for the log. */
  what: string
  /** Deletes the data before `cutoffMs` in steps, with a pause after each; returns the numbers deleted. */
  deleteExpired: (cutoffMs: number, rest: DeletionPause) => Promise<Deleted>
  queue: Pick<Store['queue'], 'waitingRows'>
  clock: MonotonicClock
  brake: Pick<TimestampTrustLimiter, 'doubt' | 'asOfMs'>
  log: Log
  /** Retention in days; 0 keeps the data permanently. */
  days: number
  /** True if the hub may lack data that it acknowledged: it has lost data, and the comparison is not complete. */
  mayLack?: () => boolean
  /** Replaces the pause between steps in tests. */
  sleep?: (ms: number, signal: AbortSignal) => Promise<void>
}

/** Delay after a start, when devices reconnect and send buffered data, which has priority. */
const FIRST_RUN_MS = 5 * MINUTE_MS
const EVERY_MS = 6 * 60 * MINUTE_MS
/** Delay of the next run if the clock was in doubt, or the store could not be written. */
const RETRY_MS = 60 * MINUTE_MS

/** Pause after each step, as a multiple of its duration: retention takes at most a fifth of the writer's time. */
const REST_PER_WORK = 4
const MIN_REST_MS = 50
const MAX_REST_MS = 10_000
/** Number of waiting rows up to which the gateway counts as idle: one commit takes them; more is a rush. */
const QUIET_ROWS = 50
const CHECK_MS = 100
/** Longest wait for an idle moment; then a step runs anyway: a permanently busy gateway would run out of disk. */
const MAX_RUSH_MS = 10_000

/**
 * Deletes telemetry or events older than the retention, in small steps at idle moments. `TimestampTrustLimiter` decides
 * the reference time: with a clock a year ahead, a year of data would be deleted otherwise.
 */
export class Retention<Deleted extends { [Kind in keyof Deleted]: number }> implements Component {
  readonly #deps: RetentionDeps<Deleted>
  readonly #sleep: (ms: number, signal: AbortSignal) => Promise<void>
  #stopping = new AbortController()
  #timer: NodeJS.Timeout | undefined
  #running: Promise<unknown> = Promise.resolve()
  #hasWarnedOfClock = false

  constructor(deps: RetentionDeps<Deleted>) {
    this.#deps = deps
    this.#sleep = deps.sleep ?? ((ms, signal) => wait(ms, undefined, { signal }))
  }

  async start(): Promise<void> {
    this.#stopping = new AbortController()
    if (this.#deps.days > 0) this.#runIn(FIRST_RUN_MS)
  }

  async stop(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#stopping.abort()
    await this.#running
  }

  /** Deletes expired data. Returns the numbers deleted; null if it failed and must be retried soon. */
  async runOnce(): Promise<Deleted | null> {
    const { what, deleteExpired, log, mayLack, days } = this.#deps
    if (days === 0) return null
    const cutoffMs = this.#cutoffMs()
    // the gateway may have the only copy
    if (cutoffMs === null || mayLack?.() === true) return null
    const { signal } = this.#stopping
    try {
      await this.#quiet(signal)
      let startedAtMs = this.#deps.clock.monotonicMs()
      const deleted = await deleteExpired(cutoffMs, async () => {
        const tookMs = this.#deps.clock.monotonicMs() - startedAtMs
        await this.#sleep(Math.min(Math.max(MIN_REST_MS, tookMs * REST_PER_WORK), MAX_REST_MS), signal)
        await this.#quiet(signal)
        startedAtMs = this.#deps.clock.monotonicMs()
      })
      const fields: Record<string, unknown> = { cutoff: toIso(cutoffMs), ...deleted }
      if (Object.values<number>(deleted).some((count) => count > 0)) log.info(fields, `retention deleted old ${what}`)
      else log.debug(fields, `retention found no old ${what} to delete`)
      return deleted
    } catch (error) {
      if (!signal.aborted) log.warn({ reason: describeError(error) }, 'retention failed; will retry at the next run')
      return null
    }
  }

  /** Returns null while the clock is in doubt. */
  #cutoffMs(): number | null {
    const { brake, days, log, what } = this.#deps
    const { doubt } = brake
    if (doubt !== null) {
      if (!this.#hasWarnedOfClock) log.warn({ doubt, what }, 'retention paused: the clock is in doubt')
      this.#hasWarnedOfClock = true
      return null
    }
    this.#hasWarnedOfClock = false
    return brake.asOfMs - days * DAY_MS
  }

  async #quiet(signal: AbortSignal): Promise<void> {
    const { queue, clock } = this.#deps
    const endsAtMs = clock.monotonicMs() + MAX_RUSH_MS
    while (queue.waitingRows > QUIET_ROWS && clock.monotonicMs() < endsAtMs) await this.#sleep(CHECK_MS, signal)
  }

  #runIn(ms: number): void {
    this.#timer = setTimeout(() => {
      this.#running = this.runOnce().then((deleted) => {
        if (!this.#stopping.signal.aborted) this.#runIn(deleted === null ? RETRY_MS : EVERY_MS)
      })
    }, ms)
  }
}
