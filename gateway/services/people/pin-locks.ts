import { HOUR_MS, MINUTE_MS, type MonotonicClock } from '#shared/time.ts'

const WRONG_ON_TABLET = 5
const TABLET_LOCK_MS = 5 * MINUTE_MS
const WRONG_IN_ALL = 20
const WINDOW_MS = HOUR_MS
const LOCK_MS = HOUR_MS

interface Tries {
  /** On this tablet since the last right one. */
  wrong: number
  lockedUntilMs: number
}

/** What counts for all tablets, in time that is to go by: it survives a restart, in which none does. */
export interface PinTries {
  /** How long ago each wrong one was that still counts. */
  wrongAgoMs: readonly number[]
  /** How long the person is still locked. */
  lockedMs: number
}

/**
 * How often a PIN may be wrong: five times for a person on a tablet, then not for five minutes; twenty times in an hour
 * on all tablets together, then not for an hour. Counted in time that goes by, whatever the clock is set to. Of a
 * tablet that is gone only what counts for all is remembered.
 */
export class PinLocks {
  readonly #clock: MonotonicClock
  /** By person, then by session. */
  readonly #onTablets = new Map<string, Map<string, Tries>>()
  /** When somebody was wrong within the last hour, by person; as many as lock at most. */
  readonly #wrongAtMs = new Map<string, number[]>()
  readonly #lockedUntilMs = new Map<string, number>()

  constructor(clock: MonotonicClock) {
    this.#clock = clock
  }

  /** How long the person cannot act on this tablet; 0 when it can. */
  waitMs(userId: string, sessionId: string): number {
    const onTablet = this.#onTablets.get(userId)?.get(sessionId)?.lockedUntilMs ?? 0
    const untilMs = Math.max(onTablet, this.#lockedUntilMs.get(userId) ?? 0)
    return Math.max(0, untilMs - this.#clock.monotonicMs())
  }

  /** Counts a wrong PIN. Returns for how long the person is locked on all tablets from now on; 0 when it is not. */
  wrong(userId: string, sessionId: string): number {
    const nowMs = this.#clock.monotonicMs()
    const tablets = this.#onTablets.get(userId) ?? new Map<string, Tries>()
    this.#onTablets.set(userId, tablets)
    const tries = tablets.get(sessionId) ?? { wrong: 0, lockedUntilMs: 0 }
    tablets.set(sessionId, tries)
    if (++tries.wrong >= WRONG_ON_TABLET) {
      tries.wrong = 0
      tries.lockedUntilMs = nowMs + TABLET_LOCK_MS
    }
    const lately = (this.#wrongAtMs.get(userId) ?? []).filter((atMs) => atMs > nowMs - WINDOW_MS)
    lately.push(nowMs)
    this.#wrongAtMs.set(userId, lately)
    if (lately.length < WRONG_IN_ALL) return 0
    this.#wrongAtMs.delete(userId)
    this.#lockedUntilMs.set(userId, nowMs + LOCK_MS)
    return LOCK_MS
  }

  /** What is to be known of the person after a restart. */
  triesOf(userId: string): PinTries {
    const nowMs = this.#clock.monotonicMs()
    const ago = (this.#wrongAtMs.get(userId) ?? []).map((atMs) => Math.round(nowMs - atMs))
    const lockedMs = Math.max(0, Math.round((this.#lockedUntilMs.get(userId) ?? 0) - nowMs))
    return { wrongAgoMs: ago.filter((ms) => ms < WINDOW_MS), lockedMs }
  }

  /** Goes on from before the restart. */
  restore(userId: string, { wrongAgoMs, lockedMs }: PinTries): void {
    const nowMs = this.#clock.monotonicMs()
    if (wrongAgoMs.length > 0)
      this.#wrongAtMs.set(
        userId,
        wrongAgoMs.map((ms) => nowMs - ms),
      )
    if (lockedMs > 0) this.#lockedUntilMs.set(userId, nowMs + lockedMs)
  }

  /** A right PIN: what was wrong on this tablet is forgiven, but not what counts for all. */
  right(userId: string, sessionId: string): void {
    this.#onTablets.get(userId)?.delete(sessionId)
  }

  forgetSession(sessionId: string): void {
    for (const tablets of this.#onTablets.values()) tablets.delete(sessionId)
  }

  forgetUser(userId: string): void {
    this.#onTablets.delete(userId)
    this.#wrongAtMs.delete(userId)
    this.#lockedUntilMs.delete(userId)
  }
}
