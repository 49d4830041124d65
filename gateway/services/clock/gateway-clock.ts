import { EARLIEST_MS, LATEST_MS, latestEventMs, MAX_AHEAD_MS } from '#domain/event-time.ts'
import { type Clock, DAY_MS, MINUTE_MS, type MonotonicClock } from '#shared/time.ts'
import { TimeSources } from './time-sources.ts'

interface GatewayClockDeps {
  system: Clock & MonotonicClock
  /** Whether the operating system knows that its clock is right, which shows `systemMs`. */
  isSynchronized: (systemMs: number) => boolean
}

/** What is known from before a start; 0 where it is not. */
export interface RestoredTimes {
  /** The newest time. */
  markMs: number
  /** What time it was by the last confirmation and by what went by since while a gateway ran. */
  confirmedMs: number
}

/**
 * Why the clock is in doubt. `not_set`: the system clock cannot be right since the start. `set_back`: it was set back
 * while the gateway ran. In both cases times are this clock's own estimates. `ahead`: the system clock is used, but it
 * is further on than what is known to have gone by.
 */
export type ClockFault = 'not_set' | 'set_back' | 'ahead'

/** How long a gateway may be switched off, all times together, until somebody has to confirm the time. */
const MAX_UNCONFIRMED_MS = 31 * DAY_MS
/** What an admin reads off another clock agrees with this one within it. */
const AGREES_MS = 2 * MINUTE_MS
/** A confirmed time further than this from the system clock is brought up to it when that is synchronized. */
const CONFIRM_MS = MINUTE_MS

/**
 * What time it is. It is the system clock's time, unless that cannot be right: a machine without a battery clock starts
 * in 1970, or where it was when the power went; and somebody may set a clock back by mistake. Then this clock runs on
 * from what the gateway knew last (before a start, the mark), so that order is kept, and says that it is not to be
 * trusted, until
 *
 * - the system clock is not behind this one any more, or shows again what it would without having been set; or
 * - the operating system says that its clock is synchronized, or an admin confirms it, or this one; or
 * - two devices that know the time confirm the system clock.
 *
 * A system clock before 2020 or after 2100 is never believed. One that was set ahead is believed, and nothing is
 * deleted by age until it is confirmed: see `doubt` and `confirmedMs`.
 */
export class GatewayClock implements Clock, MonotonicClock {
  readonly #deps: GatewayClockDeps
  readonly #witnesses = new TimeSources()
  /** What the system clock showed when it was last believed for a reason; null before. */
  #course: Course | null = null
  /** What this clock runs on from while the system clock is not believed. */
  #own: Course | null = null
  /** An admin says that it is right, whatever the system clock shows. */
  #isOwnConfirmed = false
  /** From the last confirmation on; null until something is known. */
  #confirmed: Course | null = null
  #isConfirmed = false
  /** System clock less monotonic clock when they were last read: it changes only when the clock is set. */
  #offsetMs: number

  constructor(deps: GatewayClockDeps) {
    this.#deps = deps
    this.#offsetMs = deps.system.nowMs() - deps.system.monotonicMs()
  }

  /** Judges the system clock by what is known from before this start. */
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

  /** What the system clock shows, right or not. */
  get systemMs(): number {
    return this.#deps.system.nowMs()
  }

  /** False when `nowMs` was only a guess, good for order and nothing else. */
  get isTrusted(): boolean {
    return this.#own === null || this.#isOwnConfirmed
  }

  /** Null when all is well; deletion by age waits while it is not. */
  get doubt(): ClockFault | null {
    const nowMs = this.nowMs()
    if (!this.isTrusted) return this.#course === null ? 'not_set' : 'set_back'
    const isSetAhead = this.#course !== null && nowMs > this.#on(this.#course) + MAX_AHEAD_MS
    return isSetAhead || nowMs > this.confirmedMs + MAX_UNCONFIRMED_MS ? 'ahead' : null
  }

  /**
   * What time it is by the last confirmation and by what is known to have gone by since: the time in which a gateway
   * ran. 0 while nothing is known. It is behind by the time in which none ran; no wrong clock moves it ahead.
   */
  get confirmedMs(): number {
    return this.#confirmed === null ? 0 : this.#on(this.#confirmed)
  }

  /**
   * Whether the system or an admin has confirmed the clock since the start. For deletion by age only: what acts by
   * itself asks `ClockConfirmation`.
   */
  get isConfirmed(): boolean {
    return this.#isConfirmed
  }

  /** Until when a device's time can be believed at `nowMs`. */
  latestEventMs(nowMs: number): number {
    return latestEventMs(nowMs, this.isTrusted)
  }

  /** Asks the operating system, unless there is no need, whether its clock is right: not for every message. */
  check(): void {
    const { system, isSynchronized } = this.#deps
    const systemMs = system.nowMs()
    const isOff = this.doubt !== null || Math.abs(systemMs - this.confirmedMs) > CONFIRM_MS
    if ((isOff || !this.#isConfirmed) && isPossible(systemMs) && isSynchronized(systemMs)) this.confirm()
  }

  /** The system clock is right. */
  confirm(): void {
    const { system } = this.#deps
    const systemMs = system.nowMs()
    this.#confirmed = { atMs: systemMs, monotonicMs: system.monotonicMs() }
    this.#isConfirmed = true
    this.#believe(systemMs)
  }

  /**
   * An admin says that it is `givenMs`: the system clock is right, or else this clock, which then runs on by itself.
   * False, and nothing changes, when neither shows that within two minutes.
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

  /** A device said, while this clock is not trusted, that it is `atMs`. */
  heard(hardwareId: string, atMs: number): void {
    const { system } = this.#deps
    const systemMs = system.nowMs()
    if (this.isTrusted || !isPossible(systemMs)) return
    if (this.#witnesses.heard(hardwareId, atMs, systemMs, system.monotonicMs())) this.#believe(systemMs)
  }

  #confirmOwn(nowMs: number): void {
    const course = { atMs: nowMs, monotonicMs: this.#deps.system.monotonicMs() }
    this.#own = course
    this.#course = course
    this.#confirmed = course
    this.#isConfirmed = true
    this.#isOwnConfirmed = true
    this.#witnesses.forget()
  }

  /** The time while the system clock is believed. */
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
    // if it was set ahead before, nothing says that this was right either
    const ownMs = isBehindCourse ? Math.min(courseMs, unsetMs) : unsetMs
    this.#own = { atMs: Math.max(EARLIEST_MS, ownMs), monotonicMs }
    return timeOn(this.#own, monotonicMs)
  }

  /** Whether the system clock shows what it would if nobody had set it since it was last believed. */
  #isOnCourse(systemMs: number, monotonicMs: number): boolean {
    return this.#course !== null && Math.abs(systemMs - timeOn(this.#course, monotonicMs)) <= MAX_AHEAD_MS
  }

  #on(course: Course): number {
    return timeOn(course, this.#deps.system.monotonicMs())
  }

  /** Uses the system clock again, which shows nothing new. */
  #trust(): void {
    this.#own = null
    this.#isOwnConfirmed = false
    this.#witnesses.forget()
  }

  /** Uses the system clock, and takes what it shows for the time from which it is judged from now on. */
  #believe(systemMs: number): void {
    this.#trust()
    const monotonicMs = this.#deps.system.monotonicMs()
    this.#course = { atMs: systemMs, monotonicMs }
    // the first time of all is confirmed by nothing, but nothing is older; an earlier one deletes less
    if (this.#confirmed === null || systemMs < this.confirmedMs) this.#confirmed = { atMs: systemMs, monotonicMs }
  }
}

/** A time that goes on by the monotonic clock. */
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
