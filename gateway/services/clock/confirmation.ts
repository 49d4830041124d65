import type { ClockState, TimeSource } from '#domain/clock-state.ts'
import type { Component } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import { MINUTE_MS, toIso } from '#shared/time.ts'
import type { ClockCheckpoint } from './checkpoint.ts'
import type { GatewayClock } from './gateway-clock.ts'

interface ClockConfirmationDeps {
  clock: GatewayClock
  clockMark: Pick<ClockCheckpoint, 'confirm'>
  /** Accepted time sources; an admin always counts. */
  confirmedBy: readonly TimeSource[]
  /** True if the operating system knows that its clock is right, which shows `systemMs`. */
  isSynchronized: (systemMs: number) => boolean
  hardwareTimesMs: () => readonly number[]
  events: { emit(name: 'clockConfirmed', event: { by: TimeSource; atMs: number }): void }
  log: Log
}

const AGREES_MS = 2 * MINUTE_MS
/** Clock changes above this require a new confirmation. */
const SET_MS = MINUTE_MS
const CHECK_MS = 2_000
const DEVICES = 2
/** Time for which a device must agree: the first samples after an outage match a clock that stood still. */
const STEADY_MS = 2 * MINUTE_MS

/**
 * Decides whether the gateway may act by its clock. This is the second of two questions:
 *
 * - Is the clock trusted (`GatewayClock`)? Nothing proves it wrong: it is not before 2020, not behind the last time
 *   known to the gateway, not set back. That is enough to date messages from devices. Deletion by age also requires
 *   that it is not ahead of the time known to have elapsed (`TimestampTrustLimiter`).
 * - Is it confirmed? A host without a battery clock comes back from a power cut hours late, and the gateway alone
 *   cannot detect that: carts would be locked, and staff called, at the wrong time of day. So automatic actions wait
 *   until, since the start, one of four sources confirms the time: the operating system is synchronized, a battery
 *   clock shows the same time, two devices with their own clocks send it and no later one for two minutes, or an admin
 *   compares it with another clock.
 *
 * A confirmation holds until the next start, or until the clock is set by more than a minute. Confirmation by an admin
 * or the operating system also resolves the faults of the first question; battery clocks and devices do not.
 */
export class ClockConfirmation implements Component {
  readonly #deps: ClockConfirmationDeps
  /** Clock time minus monotonic time at the confirmation; null while unconfirmed. */
  #offsetMs: number | null = null
  /** Devices whose newest time agreed with the clock, since when, and clock time minus monotonic time then. */
  readonly #agreeing = new Map<string, { sinceMs: number; offsetMs: number }>()
  /** Devices that have requested the time since the start: the time they send comes from the gateway. */
  readonly #asking = new Set<string>()
  #timer: NodeJS.Timeout | undefined

  constructor(deps: ClockConfirmationDeps) {
    this.#deps = deps
  }

  async start(): Promise<void> {
    this.check()
    this.#timer = setInterval(() => this.check(), CHECK_MS)
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
    this.#deps.log.warn({ now: toIso(clock.nowMs()) }, 'clock was set; automatic actions wait until it is confirmed')
    return false
  }

  get state(): ClockState {
    this.check()
    if (this.isConfirmed) return 'confirmed'
    const { clock } = this.#deps
    // reading the time makes the clock evaluate itself
    clock.nowMs()
    return clock.isTrusted ? 'trusted' : 'untrusted'
  }

  /** Polls the time sources that do not report on their own, while the clock is unconfirmed. */
  check(): void {
    const { clock, isSynchronized, hardwareTimesMs } = this.#deps
    if (this.isConfirmed) return
    const nowMs = clock.nowMs()
    if (!clock.isTrusted) return
    if (this.#counts('system') && isSynchronized(clock.systemMs)) this.#confirm('system')
    else if (this.#counts('hardware') && hardwareTimesMs().some((atMs) => agree(atMs, nowMs))) this.#confirm('hardware')
    else if (this.#isConfirmedByDevices(nowMs)) this.#confirm('devices')
  }

  /** Confirms the clock after an admin entered `givenMs` as the current time. Throws `clock_differs`. */
  async confirm(givenMs: number): Promise<void> {
    await this.#deps.clockMark.confirm(givenMs)
    this.#confirm('admin')
  }

  /** Excludes a device that requests the time. */
  asked(hardwareId: string): void {
    this.#asking.add(hardwareId)
    this.#agreeing.delete(hardwareId)
  }

  /** Takes `ownMs`, the time of a message's newest sample by the device's own clock; 0 if the gateway dated it. */
  reported(hardwareId: string, ownMs: number): void {
    // runs for every message: must cost nothing once the clock is confirmed
    if (this.#offsetMs !== null || !this.#counts('devices') || this.#asking.has(hardwareId)) return
    const { clock } = this.#deps
    const nowMs = clock.nowMs()
    if (!clock.isTrusted) return
    const sinceMs = clock.monotonicMs()
    if (agree(ownMs, nowMs)) {
      if (!this.#agreeing.has(hardwareId)) this.#agreeing.set(hardwareId, { sinceMs, offsetMs: nowMs - sinceMs })
    }
    // a late sample proves nothing; one that is ahead or undated shows that the device does not agree
    else if (ownMs === 0 || ownMs > nowMs) this.#agreeing.delete(hardwareId)
  }

  #isConfirmedByDevices(nowMs: number): boolean {
    if (!this.#counts('devices')) return false
    const monotonicMs = this.#deps.clock.monotonicMs()
    let steady = 0
    for (const [hardwareId, { sinceMs, offsetMs }] of this.#agreeing) {
      // they agreed with the time before the clock was set
      if (Math.abs(nowMs - monotonicMs - offsetMs) > SET_MS) this.#agreeing.delete(hardwareId)
      else if (monotonicMs - sinceMs >= STEADY_MS) steady++
    }
    return steady >= DEVICES
  }

  #counts(source: TimeSource): boolean {
    return this.#deps.confirmedBy.includes(source)
  }

  #confirm(by: TimeSource): void {
    const { clock, events, log } = this.#deps
    const isNew = !this.isConfirmed
    const atMs = clock.nowMs()
    this.#offsetMs = atMs - clock.monotonicMs()
    this.#agreeing.clear()
    if (!isNew) return
    log.info({ by, now: toIso(atMs) }, 'clock confirmed')
    events.emit('clockConfirmed', { by, atMs })
  }
}

function agree(atMs: number, nowMs: number): boolean {
  return Math.abs(atMs - nowMs) <= AGREES_MS
}
