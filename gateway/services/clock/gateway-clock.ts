import { EARLIEST_MS, LATEST_MS, latestEventMs, MAX_AHEAD_MS } from '#domain/event-time.ts'
import { type Clock, MINUTE_MS, type MonotonicClock } from '#shared/time.ts'
import { ClockWitnesses } from './witnesses.ts'

interface GatewayClockDeps {
  system: Clock & MonotonicClock
  /** Whether the operating system knows that its clock is right. */
  isSynchronized: () => boolean
}

/** A system clock that jumps from the monotonic one by this much was set by NTP or a person. */
const SET_MS = MINUTE_MS

/**
 * What time it is. It is the system clock's time, unless that cannot be right: a machine without a battery clock starts
 * in 1970, or where it was when the power went. Then this clock runs on from what the gateway knew last (the mark),
 * so that order is kept, and says that it is not to be trusted, until
 *
 * - the system clock is set while the gateway runs, forwards or backwards: NTP or the person who sets it knows
 * better; or
 * - the system clock is not behind this one any more; or
 * - the operating system says that its clock is synchronized; or
 * - two devices that know the time confirm the system clock: it was the mark that was wrong.
 *
 * A system clock before 2020 or after 2100 is never believed.
 */
export class GatewayClock implements Clock, MonotonicClock {
  readonly #deps: GatewayClockDeps
  readonly #witnesses = new ClockWitnesses()
  /** What this clock runs on from while the system clock is not believed. */
  #own: { atMs: number; monotonicMs: number } | null = null
  /** System clock less monotonic clock when they were last read: it changes only when the clock is set. */
  #offsetMs: number

  constructor(deps: GatewayClockDeps) {
    this.#deps = deps
    this.#offsetMs = deps.system.nowMs() - deps.system.monotonicMs()
  }

  /** Judges the system clock by the mark: the newest time known from before this start, 0 for none. */
  start(markMs: number): void {
    const { system, isSynchronized } = this.#deps
    const knownMs = Math.max(EARLIEST_MS, markMs)
    const systemMs = system.nowMs()
    const isRight = isPossible(systemMs) && (systemMs >= knownMs - MAX_AHEAD_MS || isSynchronized())
    if (isRight) this.#believe()
    else this.#own = { atMs: knownMs + 1, monotonicMs: system.monotonicMs() }
  }

  nowMs(): number {
    const { system } = this.#deps
    const systemMs = system.nowMs()
    const monotonicMs = system.monotonicMs()
    const unsetMs = this.#offsetMs + monotonicMs
    const isSet = Math.abs(systemMs - unsetMs) >= SET_MS
    this.#offsetMs = systemMs - monotonicMs
    if (this.#own === null) {
      if (isPossible(systemMs)) return systemMs
      this.#own = { atMs: Math.max(EARLIEST_MS, unsetMs), monotonicMs }
    }
    const ownMs = Math.round(this.#own.atMs + monotonicMs - this.#own.monotonicMs)
    if (!isPossible(systemMs) || !(isSet || systemMs >= ownMs - MAX_AHEAD_MS)) return ownMs
    this.#believe()
    return systemMs
  }

  monotonicMs(): number {
    return this.#deps.system.monotonicMs()
  }

  /** False when `nowMs` was only a guess, good for order and nothing else. */
  get isTrusted(): boolean {
    return this.#own === null
  }

  /** Until when a device's time can be believed at `nowMs`. */
  latestEventMs(nowMs: number): number {
    return latestEventMs(nowMs, this.#own === null)
  }

  /** Asks the operating system, while there is doubt, whether its clock is right: not for every message. */
  check(): void {
    const { system, isSynchronized } = this.#deps
    if (this.#own !== null && isPossible(system.nowMs()) && isSynchronized()) this.#believe()
  }

  /** A device said, while this clock is not trusted, that it is `atMs`. */
  heard(hardwareId: string, atMs: number): void {
    const { system } = this.#deps
    const systemMs = system.nowMs()
    if (this.#own === null || !isPossible(systemMs)) return
    if (this.#witnesses.heard(hardwareId, atMs, systemMs, system.monotonicMs())) this.#believe()
  }

  #believe(): void {
    this.#own = null
    this.#witnesses.forget()
  }
}

function isPossible(atMs: number): boolean {
  return atMs >= EARLIEST_MS && atMs < LATEST_MS
}
