import { setTimeout as wait } from 'node:timers/promises'
import { describeError } from '#shared/errors.ts'
import type { Component } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import { DAY_MS, MINUTE_MS, type MonotonicClock, toIso } from '#shared/time.ts'
import type { Store } from '#store/store.ts'
import type { TimestampTrustLimiter } from '../clock/timestamp-trust-limiter.ts'
import type { DeletionPause } from './deletion.ts'

interface RetentionDeps<Deleted extends { [Kind in keyof Deleted]: number }> {
  /** What is deleted, for the log. */
  what: string
  /** Deletes what is of before `cutoffMs`, step by step, with a rest after each; tells how much that was. */
  deleteExpired: (cutoffMs: number, rest: DeletionPause) => Promise<Deleted>
  queue: Pick<Store['queue'], 'waitingRows'>
  clock: MonotonicClock
  brake: Pick<TimestampTrustLimiter, 'doubt' | 'asOfMs'>
  log: Log
  /** How long it is kept; 0 keeps it for ever. */
  days: number
  /**
   * It is not known whether the head office still has what it had: it has lost data, and not all was compared since.
   */
  mayLack?: () => boolean
  /** Stands for the time that goes by between steps. */
  sleep?: (ms: number, signal: AbortSignal) => Promise<void>
}

/** After a start, devices come back and send what they kept: they go first. */
const FIRST_RUN_MS = 5 * MINUTE_MS
const EVERY_MS = 6 * 60 * MINUTE_MS
/** When the clock was in doubt, or the store could not be written. */
const RETRY_MS = 60 * MINUTE_MS

/** After each step it rests four times as long as that took, so that it takes at most a fifth of the writer's time. */
const REST_PER_WORK = 4
const MIN_REST_MS = 50
const MAX_REST_MS = 10_000
/** Few rows waiting are what a commit takes along; more is a rush. */
const QUIET_ROWS = 50
const LOOK_MS = 100
/** A gateway that is never quiet would run out of disk: one step is made all the same. */
const MAX_RUSH_MS = 10_000

/**
 * Deletes telemetry or events older than the retention, in small steps at quiet moments. What time it counts back from
 * is decided by the brake: a clock that is a year ahead would delete a year otherwise.
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

  /** Deletes what is too old now. Returns how much that was; null when it could not be done and is to be tried soon. */
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
      if (!signal.aborted) log.warn({ reason: describeError(error) }, 'retention failed; tries again at the next run')
      return null
    }
  }

  /** Null while the clock is in doubt. */
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
    while (queue.waitingRows > QUIET_ROWS && clock.monotonicMs() < endsAtMs) await this.#sleep(LOOK_MS, signal)
  }

  #runIn(ms: number): void {
    this.#timer = setTimeout(() => {
      this.#running = this.runOnce().then((deleted) => {
        if (!this.#stopping.signal.aborted) this.#runIn(deleted === null ? RETRY_MS : EVERY_MS)
      })
    }, ms)
  }
}
