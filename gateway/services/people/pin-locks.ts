import { HOUR_MS, MINUTE_MS, type MonotonicClock } from '#shared/time.ts'

const WRONG_ON_TABLET = 5
const TABLET_LOCK_MS = 5 * MINUTE_MS
const WRONG_IN_ALL = 20
const WINDOW_MS = HOUR_MS
const LOCK_MS = HOUR_MS

interface Tries {
  /** Wrong PINs on this tablet since the last right one. */
  wrong: number
  lockedUntilMs: number
}

/** Counts for all tablets together, in relative times so that they survive a restart; the downtime does not count. */
export interface PinTries {
  /** Ages of the wrong PINs that still count, in ms. */
  wrongAgoMs: readonly number[]
  /** Remaining time of the lock, in ms. */
  lockedMs: number
}

/**
 * Limits of wrong PINs: after five for a user on one tablet, five minutes' lock there; after twenty within an hour on
 * all tablets together, an hour's lock. Uses the monotonic clock. Only the count for all tablets outlives a session.
 */
export class PinLocks {
  readonly #clock: MonotonicClock
  /** Keyed by user, then by session. */
  readonly #onTablets = new Map<string, Map<string, Tries>>()
  /** Times of wrong PINs within the last hour, by user; at most as many as cause a lock. */
  readonly #wrongAtMs = new Map<string, number[]>()
  readonly #lockedUntilMs = new Map<string, number>()

  constructor(clock: MonotonicClock) {
    this.#clock = clock
  }

  /** Returns the time for which the user is locked on this tablet, in ms; 0 if not locked. */
  waitMs(userId: string, sessionId: string): number {
    const onTablet = this.#onTablets.get(userId)?.get(sessionId)?.lockedUntilMs ?? 0
    const untilMs = Math.max(onTablet, this.#lockedUntilMs.get(userId) ?? 0)
    return Math.max(0, untilMs - this.#clock.monotonicMs())
  }

  /** Counts a wrong PIN. Returns the duration of a new lock on all tablets, in ms; 0 if none. */
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

  /** Users with wrong PINs or a lock on all tablets, as of their last try. */
  users(): string[] {
    return [...new Set([...this.#wrongAtMs.keys(), ...this.#lockedUntilMs.keys()])]
  }

  triesOf(userId: string): PinTries {
    const nowMs = this.#clock.monotonicMs()
    const ago = (this.#wrongAtMs.get(userId) ?? []).map((atMs) => Math.round(nowMs - atMs))
    const lockedMs = Math.max(0, Math.round((this.#lockedUntilMs.get(userId) ?? 0) - nowMs))
    return { wrongAgoMs: ago.filter((ms) => ms < WINDOW_MS), lockedMs }
  }

  restore(userId: string, { wrongAgoMs, lockedMs }: PinTries): void {
    const nowMs = this.#clock.monotonicMs()
    if (wrongAgoMs.length > 0)
      this.#wrongAtMs.set(
        userId,
        wrongAgoMs.map((ms) => nowMs - ms),
      )
    if (lockedMs > 0) this.#lockedUntilMs.set(userId, nowMs + lockedMs)
  }

  /** Resets the count on this tablet after a right PIN, but not the count for all tablets. */
  right(userId: string, sessionId: string): void {
    this.#onTablets.get(userId)?.delete(sessionId)
  }

  forgetSession(sessionId: string): void {
    for (const tablets of this.#onTablets.values()) tablets.delete(sessionId)
  }

  forgetUser(userId: string): void {
    this.#onTablets.delete(userId)
    this.forgetTries(userId)
  }

  /** Forgets what counts for all tablets. */
  forgetTries(userId: string): void {
    this.#wrongAtMs.delete(userId)
    this.#lockedUntilMs.delete(userId)
  }
}
