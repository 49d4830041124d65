import type { ClockState, TimeSource } from '#domain/clock-state.ts'
import type { Component } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import { MINUTE_MS, toIso } from '#shared/time.ts'
import type { ClockCheckpoint } from './checkpoint.ts'
import type { GatewayClock } from './gateway-clock.ts'

interface ClockConfirmationDeps {
  clock: GatewayClock
  clockMark: Pick<ClockCheckpoint, 'confirm'>
  /** Who counts; an admin always does. */
  confirmedBy: readonly TimeSource[]
  /** Whether the operating system knows that its clock is right, which shows `systemMs`. */
  isSynchronized: (systemMs: number) => boolean
  /** What the battery clocks of the machine show. */
  hardwareTimesMs: () => readonly number[]
  events: { emit(name: 'clockConfirmed', event: { by: TimeSource; atMs: number }): void }
  log: Log
}

const AGREES_MS = 2 * MINUTE_MS
/** A clock that was set by more has to be confirmed anew. */
const SET_MS = MINUTE_MS
const LOOK_MS = 2_000
const DEVICES = 2

/**
 * Whether the gateway may act by its clock. There are two questions, and this is the second:
 *
 * - Is the clock trusted (`GatewayClock`)? It cannot be shown to be wrong: it is not before 2020, not behind what the
 *   gateway knew last, not set back. That is enough to date what devices send. Deletion by age also
 *   needs it not to be ahead of the time that is known to have elapsed (`TimestampTrustLimiter`).
 * - Is it confirmed? A machine without a battery clock comes back from a power cut hours late, and that looks right to
 *   itself: carts would be locked, and people called, at the wrong time of day. So what acts by itself waits until,
 *   since the start, one of four says that the time is right: the operating system is synchronized, a battery clock
 *   shows the same, two devices with a time of their own send it, or an admin compares it with his.
 *
 * It holds until the next start, or until the clock is set by more than a minute. An admin's word also ends the doubts
 * of the first question, and so does the operating system's; battery clocks and devices do not.
 */
export class ClockConfirmation implements Component {
  readonly #deps: ClockConfirmationDeps
  /** What the clock was ahead of the monotonic clock when it was confirmed; null while it is not. */
  #offsetMs: number | null = null
  /** Devices whose newest time agreed with the clock. */
  readonly #agreeing = new Set<string>()
  /** Devices that have asked for the time since the start: what they say of it is ours. */
  readonly #asking = new Set<string>()
  #timer: NodeJS.Timeout | undefined

  constructor(deps: ClockConfirmationDeps) {
    this.#deps = deps
  }

  async start(): Promise<void> {
    this.look()
    this.#timer = setInterval(() => this.look(), LOOK_MS)
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
  }

  get isConfirmed(): boolean {
    if (this.#offsetMs === null) return false
    const { clock } = this.#deps
    const isSet = Math.abs(clock.nowMs() - clock.monotonicMs() - this.#offsetMs) > SET_MS
    if (!isSet && clock.isTrusted) return true
    this.#offsetMs = null
    this.#agreeing.clear()
    this.#deps.log.warn(
      { now: toIso(clock.nowMs()) },
      'the clock was set: what acts by itself waits until the clock is confirmed',
    )
    return false
  }

  get state(): ClockState {
    if (this.isConfirmed) return 'confirmed'
    const { clock } = this.#deps
    // reading the time is what makes the clock judge itself
    clock.nowMs()
    return clock.isTrusted ? 'trusted' : 'untrusted'
  }

  /** Asks the witnesses that have to be asked, unless there is no need. */
  look(): void {
    const { clock, isSynchronized, hardwareTimesMs } = this.#deps
    if (this.isConfirmed) return
    const nowMs = clock.nowMs()
    if (!clock.isTrusted) return
    if (this.#counts('system') && isSynchronized(clock.systemMs)) this.#confirm('system')
    else if (this.#counts('hardware') && hardwareTimesMs().some((atMs) => agree(atMs, nowMs))) this.#confirm('hardware')
  }

  /** An admin says that it is `givenMs`. Throws `clock_differs`. */
  async confirm(givenMs: number): Promise<void> {
    await this.#deps.clockMark.confirm(givenMs)
    this.#confirm('admin')
  }

  /** A device asks for the time. */
  asked(hardwareId: string): void {
    this.#asking.add(hardwareId)
    this.#agreeing.delete(hardwareId)
  }

  /** The newest sample of a message has a time of the device's own, `ownMs`; 0 when ours dated it. */
  said(hardwareId: string, ownMs: number): void {
    // for every message: costs nothing once the clock is confirmed
    if (this.#offsetMs !== null || !this.#counts('devices') || this.#asking.has(hardwareId)) return
    const { clock } = this.#deps
    const nowMs = clock.nowMs()
    if (!clock.isTrusted) return
    if (agree(ownMs, nowMs)) this.#agreeing.add(hardwareId)
    // what comes late says nothing; what is ahead, or undated, says that the device does not agree
    else if (ownMs === 0 || ownMs > nowMs) this.#agreeing.delete(hardwareId)
    if (this.#agreeing.size >= DEVICES) this.#confirm('devices')
  }

  #counts(witness: TimeSource): boolean {
    return this.#deps.confirmedBy.includes(witness)
  }

  #confirm(by: TimeSource): void {
    const { clock, events, log } = this.#deps
    const isNew = !this.isConfirmed
    const atMs = clock.nowMs()
    this.#offsetMs = atMs - clock.monotonicMs()
    this.#agreeing.clear()
    if (!isNew) return
    log.info({ by, now: toIso(atMs) }, 'the clock is confirmed')
    events.emit('clockConfirmed', { by, atMs })
  }
}

function agree(atMs: number, nowMs: number): boolean {
  return Math.abs(atMs - nowMs) <= AGREES_MS
}
