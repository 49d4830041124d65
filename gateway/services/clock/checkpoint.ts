import { ConflictError } from '#shared/errors.ts'
import type { Component } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import { MINUTE_MS, toIso } from '#shared/time.ts'
import type { Store } from '#store/store.ts'
import type { ClockMarkRow } from '#store/tables/clock-mark.ts'
import { describeClockFault } from './clock-fault.ts'
import type { ClockFault, GatewayClock } from './gateway-clock.ts'
import type { TimestampTrustLimiter } from './timestamp-trust-limiter.ts'

interface ClockMarkDeps {
  clock: GatewayClock
  brake: TimestampTrustLimiter
  store: Pick<Store, 'read' | 'write'>
  log: Log
}

const CHECK_MS = 10_000

/**
 * Stores the time once a minute and whenever the clock was set, so that the next start knows the earliest possible
 * time, and the time up to which the clock was confirmed. The stored time follows a clock that was set back.
 */
export class ClockCheckpoint implements Component {
  readonly #deps: ClockMarkDeps
  #markMs = 0
  #loggedFault: ClockFault | null = null
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> | undefined

  constructor(deps: ClockMarkDeps) {
    this.#deps = deps
  }

  async start(): Promise<void> {
    const { clock, brake, store } = this.#deps
    const known = store.read.clockMark()
    this.#markMs = known.atMs
    clock.start({ markMs: known.atMs, confirmedMs: known.confirmedMs })
    brake.start(known)
    this.check()
    this.#timer = setInterval(() => this.check(), CHECK_MS)
  }

  async stop(): Promise<void> {
    if (this.#timer === undefined) return
    clearInterval(this.#timer)
    this.#timer = undefined
    await this.#writing
    await this.#write()
  }

  /** Logs a change of the clock fault, and stores the time if the stored one is a minute off. */
  check(): void {
    const { clock } = this.#deps
    clock.check()
    this.#say(clock.doubt)
    if (Math.abs(clock.nowMs() - this.#markMs) >= MINUTE_MS) {
      this.#writing ??= this.#write().finally(() => {
        this.#writing = undefined
      })
    }
  }

  /** Confirms the clock after an admin entered `givenMs`. Throws `clock_differs` if the clock shows another time. */
  async confirm(givenMs: number): Promise<void> {
    const { clock, store } = this.#deps
    if (!clock.confirmAt(givenMs))
      throw new ConflictError(
        'clock_differs',
        `The clock of the gateway shows ${toIso(clock.nowMs())}, but you entered ${toIso(givenMs)}: ` +
          'set the clock of its computer first, then confirm it again.',
      )
    this.#say(clock.doubt)
    await store.write('confirmClock', this.#row())
  }

  #say(doubt: ClockFault | null): void {
    if (doubt === this.#loggedFault) return
    this.#loggedFault = doubt
    const { clock, log } = this.#deps
    const now = toIso(clock.nowMs())
    if (doubt === null) log.info({ now }, 'clock fault resolved')
    else log.warn({ now, doubt, detail: describeClockFault(doubt, clock) }, 'clock fault detected')
  }

  async #write(): Promise<void> {
    const row = this.#row()
    try {
      await this.#deps.store.write('recordClockMark', row)
      this.#markMs = row.atMs
    } catch (error) {
      this.#deps.log.debug({ reason: String(error) }, 'clock checkpoint write failed')
    }
  }

  #row(): ClockMarkRow {
    const { clock, brake } = this.#deps
    return { atMs: clock.nowMs(), confirmedMs: clock.confirmedMs, ...brake.saved }
  }
}
