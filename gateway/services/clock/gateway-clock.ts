import { EARLIEST_MS, LATEST_MS, latestEventMs, MAX_AHEAD_MS } from '#domain/event-time.ts'
import { type Clock, DAY_MS, MINUTE_MS, type MonotonicClock } from '#shared/time.ts'
import { TimeSources } from './time-sources.ts'

interface GatewayClockDeps {
  system: Clock & MonotonicClock
  /** True if the operating system knows that its clock is right, which shows `systemMs`. */
  isSynchronized: (systemMs: number) => boolean
}

/** Times known from before the start; 0 if unknown. */
export interface RestoredTimes {
  /** Newest stored time. */
  markMs: number
  /** Time of the last confirmation plus the time for which a gateway has run since. */
  confirmedMs: number
}

/**
 * Reason why the clock is in doubt. `not_set`: the system clock has been implausible since the start. `set_back`: it
 * was set back while the gateway ran. In both cases times are estimates of this clock. `ahead`: the system clock is
 * used, but it is later than the time known to have elapsed.
 */
export type ClockFault = 'not_set' | 'set_back' | 'ahead'

/** Total time for which a gateway may be switched off before staff must confirm the time. */
const MAX_UNCONFIRMED_MS = 31 * DAY_MS
/** Maximum difference between this clock and the time entered by an admin. */
const AGREES_MS = 2 * MINUTE_MS
/** Difference from which the confirmed time is brought up to a synchronized system clock. */
const CONFIRM_MS = MINUTE_MS

/**
 * Clock of the gateway. It follows the system clock unless that is implausible: a host without a battery clock starts
 * in 1970, or at the time of the power cut, and an operator may set a clock back by mistake. In that case this clock
 * continues from the last time known to the gateway (at a start, the checkpoint), which keeps order, and reports that
 * it is not trusted, until
 *
 * - the system clock is no longer behind this one, or shows again the time it would show without having been set; or
 * - the operating system reports that its clock is synchronized, or an admin confirms it, or this one; or
 * - two devices with their own clocks confirm the system clock.
 *
 * A system clock before 2020 or after 2100 is never used. One that was set ahead is used, and nothing is deleted by age
 * until it is confirmed: see `doubt` and `confirmedMs`.
 */
export class GatewayClock implements Clock, MonotonicClock {
  readonly #deps: GatewayClockDeps
  readonly #timeSources = new TimeSources()
  /** Reference of the system clock when it was last accepted for a reason; null before. */
  #course: Course | null = null
  /** Reference of this clock while the system clock is not used; else null. */
  #own: Course | null = null
  /** True if an admin confirmed this clock, whatever the system clock shows. */
  #isOwnConfirmed = false
  /** Reference of the last confirmation; null until anything is known. */
  #confirmed: Course | null = null
  #isConfirmed = false
  /** System clock minus monotonic clock at the last reading; changes only when the clock is set. */
  #offsetMs: number

  constructor(deps: GatewayClockDeps) {
    this.#deps = deps
    this.#offsetMs = deps.system.nowMs() - deps.system.monotonicMs()
  }

  /** Evaluates the system clock by the times known from before this start. */
  start({ markMs, confirmedMs }: RestoredTimes): void {
    const { system, isSynchronized } = this.#deps
    const knownMs = Math.max(EARLIEST_MS, markMs)
    const systemMs = system.nowMs()
    const monotonicMs = system.monotonicMs()
    this.#offsetMs = systemMs - monotonicMs
    this.#confirmed = confirmedMs > 0 ? { atMs: confirmedMs, monotonicMs } : null
    const isRight = isPossible(systemMs) && (systemMs >= knownMs - MAX_AHEAD_MS || isSynchronized(systemMs))
    if (isRight) this.#believe(systemMs)
    else this.#own = { atMs: knownMs + 1, monotonicMs }
  }

  nowMs(): number {
    const { system } = this.#deps
    const systemMs = system.nowMs()
    const monotonicMs = system.monotonicMs()
    const unsetMs = this.#offsetMs + monotonicMs
    this.#offsetMs = systemMs - monotonicMs
    if (this.#own === null) return this.#judge(systemMs, unsetMs, monotonicMs)
    const ownMs = timeOn(this.#own, monotonicMs)
    const isBehind = systemMs < ownMs - MAX_AHEAD_MS && !this.#isOnCourse(systemMs, monotonicMs)
    if (!isPossible(systemMs) || isBehind) return ownMs
    if (this.#course === null) this.#believe(systemMs)
    else this.#trust()
    return systemMs
  }

  monotonicMs(): number {
    return this.#deps.system.monotonicMs()
  }

  /** Time of the system clock, right or not. */
  get systemMs(): number {
    return this.#deps.system.nowMs()
  }

  /** False if `nowMs` is only an estimate, usable for order and nothing else. */
  get isTrusted(): boolean {
    return this.#own === null || this.#isOwnConfirmed
  }

  /** Current clock fault, during which deletion by age waits; null for none. */
  get doubt(): ClockFault | null {
    const nowMs = this.nowMs()
    if (!this.isTrusted) return this.#course === null ? 'not_set' : 'set_back'
    const isSetAhead = this.#course !== null && nowMs > this.#on(this.#course) + MAX_AHEAD_MS
    return isSetAhead || nowMs > this.confirmedMs + MAX_UNCONFIRMED_MS ? 'ahead' : null
  }

  /**
   * Time of the last confirmation plus the time for which a gateway has run since; 0 if unknown. It lags by the time in
   * which none ran; a wrong clock never moves it ahead.
   */
  get confirmedMs(): number {
    return this.#confirmed === null ? 0 : this.#on(this.#confirmed)
  }

  /** True if the system or an admin confirmed it since the start. For deletion by age; else see `ClockConfirmation`. */
  get isConfirmed(): boolean {
    return this.#isConfirmed
  }

  /** Returns the latest credible time of a device at `nowMs`. */
  latestEventMs(nowMs: number): number {
    return latestEventMs(nowMs, this.isTrusted)
  }

  /** Checks if needed whether the operating system's clock is synchronized; too costly for every message. */
  check(): void {
    const { system, isSynchronized } = this.#deps
    const systemMs = system.nowMs()
    const isOff = this.doubt !== null || Math.abs(systemMs - this.confirmedMs) > CONFIRM_MS
    if ((isOff || !this.#isConfirmed) && isPossible(systemMs) && isSynchronized(systemMs)) this.confirm()
  }

  /** Confirms the system clock. */
  confirm(): void {
    const { system } = this.#deps
    const systemMs = system.nowMs()
    this.#confirmed = { atMs: systemMs, monotonicMs: system.monotonicMs() }
    this.#isConfirmed = true
    this.#believe(systemMs)
  }

  /**
   * Confirms the system clock if it is within two minutes of `givenMs`, the time entered by an admin; else this clock,
   * which then runs independently. Returns false without a change if neither is.
   */
  confirmAt(givenMs: number): boolean {
    const agrees = (atMs: number) => Math.abs(atMs - givenMs) <= AGREES_MS
    const { systemMs } = this
    const nowMs = this.nowMs()
    if (isPossible(systemMs) && agrees(systemMs)) this.confirm()
    else if (agrees(nowMs)) this.#confirmOwn(nowMs)
    else return false
    return true
  }

  /** Takes the time sent by a device while this clock is not trusted. */
  received(hardwareId: string, atMs: number): void {
    const { system } = this.#deps
    const systemMs = system.nowMs()
    if (this.isTrusted || !isPossible(systemMs)) return
    if (this.#timeSources.received(hardwareId, atMs, systemMs, system.monotonicMs())) this.#believe(systemMs)
  }

  #confirmOwn(nowMs: number): void {
    const course = { atMs: nowMs, monotonicMs: this.#deps.system.monotonicMs() }
    this.#own = course
    this.#course = course
    this.#confirmed = course
    this.#isConfirmed = true
    this.#isOwnConfirmed = true
    this.#timeSources.forget()
  }

  /** Returns the time while the system clock is used. */
  #judge(systemMs: number, unsetMs: number, monotonicMs: number): number {
    const courseMs = this.#course === null ? unsetMs : timeOn(this.#course, monotonicMs)
    const isBehindCourse = systemMs < courseMs - MAX_AHEAD_MS
    if (isPossible(systemMs)) {
      const isSetBack = isBehindCourse || systemMs < unsetMs - MAX_AHEAD_MS
      if (!isSetBack || this.#isOnCourse(systemMs, monotonicMs)) return systemMs
      if (this.#deps.isSynchronized(systemMs)) {
        this.confirm()
        return systemMs
      }
    }
    // if it was set ahead before, that setting is unproven too
    const ownMs = isBehindCourse ? Math.min(courseMs, unsetMs) : unsetMs
    this.#own = { atMs: Math.max(EARLIEST_MS, ownMs), monotonicMs }
    return timeOn(this.#own, monotonicMs)
  }

  /** True if the system clock shows the time it would show without having been set since it was last accepted. */
  #isOnCourse(systemMs: number, monotonicMs: number): boolean {
    return this.#course !== null && Math.abs(systemMs - timeOn(this.#course, monotonicMs)) <= MAX_AHEAD_MS
  }

  #on(course: Course): number {
    return timeOn(course, this.#deps.system.monotonicMs())
  }

  /** Uses the system clock again without a new reference. */
  #trust(): void {
    this.#own = null
    this.#isOwnConfirmed = false
    this.#timeSources.forget()
  }

  /** Uses the system clock, with `systemMs` as the reference for later evaluations. */
  #believe(systemMs: number): void {
    this.#trust()
    const monotonicMs = this.#deps.system.monotonicMs()
    this.#course = { atMs: systemMs, monotonicMs }
    // the very first time is unconfirmed, but nothing is older; an earlier one deletes less
    if (this.#confirmed === null || systemMs < this.confirmedMs) this.#confirmed = { atMs: systemMs, monotonicMs }
  }
}

/** Reference time that advances with the monotonic clock. */
interface Course {
  atMs: number
  monotonicMs: number
}

function timeOn({ atMs, monotonicMs: sinceMs }: Course, monotonicMs: number): number {
  return Math.round(atMs + monotonicMs - sinceMs)
}

function isPossible(atMs: number): boolean {
  return atMs >= EARLIEST_MS && atMs < LATEST_MS
}
