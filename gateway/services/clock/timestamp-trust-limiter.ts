import { ConflictError } from '#shared/errors.ts'
import { DAY_MS, isNewer } from '#shared/time.ts'
import type { ClockMarkRow } from '#store/tables/clock-mark.ts'
import { describeClockFault, describeContradiction } from './clock-fault.ts'
import type { ClockFault, GatewayClock } from './gateway-clock.ts'

/** Devices without clocks that report for so long make the gateway forget what the last device with one said. */
const SILENT_CLOCKS_MS = 31 * DAY_MS
/** Devices that all are so much behind a clock that nobody has confirmed may be right. */
const BEHIND_MS = 31 * DAY_MS

/**
 * What time it is for everything that is deleted because of its age: retention and purges ask here and nowhere else.
 * A wrong clock cannot make records old: nothing is deleted while the clock is in doubt, and retention goes by the
 * earliest of three times: now, the confirmed time, and the newest time that devices sent by clocks of their own.
 */
export class TimestampTrustLimiter {
  readonly #clock: GatewayClock
  /** As in `ClockMarkRow`. */
  #saidMs = 0
  /** When a device last said a time of its own, by the monotonic clock. */
  #saidAtMs = 0

  constructor(clock: GatewayClock) {
    this.#clock = clock
  }

  /** Goes on from what is known from before this start. */
  start({ saidMs, saidAgoMs }: Pick<ClockMarkRow, 'saidMs' | 'saidAgoMs'>): void {
    this.#saidMs = saidMs
    this.#saidAtMs = this.#clock.monotonicMs() - saidAgoMs
  }

  /** What is to be known after the next start. */
  get said(): Pick<ClockMarkRow, 'saidMs' | 'saidAgoMs'> {
    return { saidMs: this.#saidMs, saidAgoMs: Math.round(this.#clock.monotonicMs() - this.#saidAtMs) }
  }

  /** A device sent readings; `ownMs` is the newest time of its own in them, 0 when our clock dated them all. */
  reported(ownMs: number, latestMs: number): void {
    const monotonicMs = this.#clock.monotonicMs()
    if (ownMs > 0) {
      if (isNewer(ownMs, this.#saidMs, latestMs)) this.#saidMs = ownMs
      this.#saidAtMs = monotonicMs
    } else if (monotonicMs - this.#saidAtMs > SILENT_CLOCKS_MS) this.#saidMs = 0
  }

  /** Why nothing is deleted by age now; null when it is. */
  get doubt(): ClockFault | null {
    this.#clock.check()
    return this.#clock.doubt
  }

  /** What retention counts back from, right after `doubt` said null. */
  get asOfMs(): number {
    const asOfMs = Math.min(this.#clock.nowMs(), this.#clock.confirmedMs)
    return this.#saidMs > 0 ? Math.min(asOfMs, this.#saidMs) : asOfMs
  }

  /** Now, for a deletion that an admin wants. Throws `clock_not_set` or `clock_unconfirmed` while it has to wait. */
  requireNowMs(): number {
    const { doubt } = this
    const nowMs = this.#clock.nowMs()
    if (doubt === null) {
      const isContradicted = this.#saidMs > 0 && nowMs - this.#saidMs > BEHIND_MS
      if (isContradicted && !this.#clock.isConfirmed)
        throw new ConflictError('clock_unconfirmed', describeContradiction(this.#saidMs, this.#clock))
      return nowMs
    }
    const code = doubt === 'ahead' ? 'clock_unconfirmed' : 'clock_not_set'
    throw new ConflictError(code, describeClockFault(doubt, this.#clock))
  }
}
