import { ConflictError } from '#shared/errors.ts'
import { DAY_MS, isNewer } from '#shared/time.ts'
import type { ClockMarkRow } from '#store/tables/clock-mark.ts'
import { describeClockFault, describeContradiction } from './clock-fault.ts'
import type { ClockFault, GatewayClock } from './gateway-clock.ts'

/** Period of reports from devices without clocks only, after which the last time of a device with one is dropped. */
const SILENT_CLOCKS_MS = 31 * DAY_MS
/** Lag of all devices from which they may be right and an unconfirmed clock wrong. */
const BEHIND_MS = 31 * DAY_MS

/**
 * Current time for everything that is deleted because of its age: retention and purges use this clock only. A wrong
 * clock cannot make records old: nothing is deleted while the clock is in doubt, and retention uses the earliest of
 * three times: now, the confirmed time, and the newest time that devices sent by their own clocks.
 */
export class TimestampTrustLimiter {
  readonly #clock: GatewayClock
  /** Newest time sent by a device's own clock; stored in `ClockMarkRow`. */
  #reportedMs = 0
  /** Monotonic time at which a device last sent a time of its own. */
  #reportedAtMs = 0

  constructor(clock: GatewayClock) {
    this.#clock = clock
  }

  start({ reportedMs, reportedAgoMs }: Pick<ClockMarkRow, 'reportedMs' | 'reportedAgoMs'>): void {
    this.#reportedMs = reportedMs
    this.#reportedAtMs = this.#clock.monotonicMs() - reportedAgoMs
  }

  /** State to store for the next start. */
  get saved(): Pick<ClockMarkRow, 'reportedMs' | 'reportedAgoMs'> {
    return { reportedMs: this.#reportedMs, reportedAgoMs: Math.round(this.#clock.monotonicMs() - this.#reportedAtMs) }
  }

  /** Takes readings of a device; `ownMs` is their newest time by its own clock, 0 if the gateway dated them all. */
  reported(ownMs: number, latestMs: number): void {
    const monotonicMs = this.#clock.monotonicMs()
    if (ownMs > 0) {
      if (isNewer(ownMs, this.#reportedMs, latestMs)) this.#reportedMs = ownMs
      this.#reportedAtMs = monotonicMs
    } else if (monotonicMs - this.#reportedAtMs > SILENT_CLOCKS_MS) this.#reportedMs = 0
  }

  /** Reason why nothing is deleted by age now; null if deletion may run. */
  get doubt(): ClockFault | null {
    this.#clock.check()
    return this.#clock.doubt
  }

  /** Time from which retention counts back; valid right after `doubt` returned null. */
  get asOfMs(): number {
    const asOfMs = Math.min(this.#clock.nowMs(), this.#clock.confirmedMs)
    return this.#reportedMs > 0 ? Math.min(asOfMs, this.#reportedMs) : asOfMs
  }

  /** Returns the time for an admin's deletion. Throws `clock_not_set` or `clock_unconfirmed` while it has to wait. */
  requireNowMs(): number {
    const { doubt } = this
    const nowMs = this.#clock.nowMs()
    if (doubt === null) {
      const isContradicted = this.#reportedMs > 0 && nowMs - this.#reportedMs > BEHIND_MS
      if (isContradicted && !this.#clock.isConfirmed)
        throw new ConflictError('clock_unconfirmed', describeContradiction(this.#reportedMs, this.#clock))
      return nowMs
    }
    const code = doubt === 'ahead' ? 'clock_unconfirmed' : 'clock_not_set'
    throw new ConflictError(code, describeClockFault(doubt, this.#clock))
  }
}
