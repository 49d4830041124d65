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

const LOOK_MS = 10_000

/**
 * Writes down what time it is, once a minute and whenever the clock was set, so that the next start knows what time it
 * must be at least, and up to when it was confirmed. A clock that was set back takes the mark with it.
 */
export class ClockCheckpoint implements Component {
  readonly #deps: ClockMarkDeps
  #markMs = 0
  #saidDoubt: ClockFault | null = null
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
    this.look()
    this.#timer = setInterval(() => this.look(), LOOK_MS)
  }

  async stop(): Promise<void> {
    if (this.#timer === undefined) return
    clearInterval(this.#timer)
    this.#timer = undefined
    await this.#writing
    await this.#write()
  }

  /** Says so if the clock has become doubtful or right, and moves the mark if it is a minute off. */
  look(): void {
    const { clock } = this.#deps
    clock.check()
    this.#say(clock.doubt)
    if (Math.abs(clock.nowMs() - this.#markMs) >= MINUTE_MS) {
      this.#writing ??= this.#write().finally(() => {
        this.#writing = undefined
      })
    }
  }

  /**
   * Takes the clock for right, because an admin says that it is `givenMs` now. Throws `clock_differs` when it shows
   * something else.
   */
  async confirm(givenMs: number): Promise<void> {
    const { clock, store } = this.#deps
    if (!clock.confirmAt(givenMs))
      throw new ConflictError(
        'clock_differs',
        `It is ${toIso(clock.nowMs())} by the clock of the gateway, and you say that it is ${toIso(givenMs)}: set the clock of its machine first, then confirm it again.`,
      )
    this.#say(clock.doubt)
    await store.write('confirmClock', this.#row())
  }

  #say(doubt: ClockFault | null): void {
    if (doubt === this.#saidDoubt) return
    this.#saidDoubt = doubt
    const { clock, log } = this.#deps
    const now = toIso(clock.nowMs())
    if (doubt === null) log.info({ now }, 'the clock is right now')
    else log.warn({ now, doubt, detail: describeClockFault(doubt, clock) }, 'the clock is in doubt')
  }

  async #write(): Promise<void> {
    const row = this.#row()
    try {
      await this.#deps.store.write('recordClockMark', row)
      this.#markMs = row.atMs
    } catch (error) {
      this.#deps.log.debug({ reason: String(error) }, 'could not store the clock mark')
    }
  }

  #row(): ClockMarkRow {
    const { clock, brake } = this.#deps
    return { atMs: clock.nowMs(), confirmedMs: clock.confirmedMs, ...brake.said }
  }
}
