import { type MonotonicClock, toIso } from '#shared/time.ts'
import { closing, type Findings, opening } from './findings.ts'
import type { OpenAlerts } from './open-alerts.ts'

interface PinAlertsDeps {
  users: { find(userId: string): { row: { name: string } } | undefined }
  book: OpenAlerts
  clock: MonotonicClock
}

/**
 * Alerts about users whose PIN is locked on all tablets: one for each user, until the lock is over. Uses the monotonic
 * clock, as the locks do. Each lock must be reported again after a start.
 */
export class PinAlerts {
  readonly #deps: PinAlertsDeps
  /** Ends of the locks, by the monotonic clock. */
  readonly #untilMs = new Map<string, number>()

  constructor(deps: PinAlertsDeps) {
    this.#deps = deps
  }

  locked(userId: string, lockedMs: number): void {
    this.#untilMs.set(userId, this.#deps.clock.monotonicMs() + lockedMs)
  }

  evaluate(nowMs: number, found: Findings): void {
    const { book, users } = this.#deps
    for (const alert of book.ofCart(null)) {
      if (alert.kind !== 'pin_locked') continue
      const { subject, closedAtMs, awaitsEnd } = alert
      const isOver = this.#leftMs(subject) <= 0 || users.find(subject) === undefined
      if (isOver && closedAtMs === null) found.changes.push(closing(alert, nowMs, null))
      else if (isOver && awaitsEnd) found.ended.push(alert)
    }
    for (const userId of this.#untilMs.keys()) this.#evaluateLock(userId, nowMs, found)
  }

  #leftMs(userId: string): number {
    return (this.#untilMs.get(userId) ?? 0) - this.#deps.clock.monotonicMs()
  }

  #evaluateLock(userId: string, nowMs: number, found: Findings): void {
    const { book, users } = this.#deps
    const name = users.find(userId)?.row.name
    const leftMs = this.#leftMs(userId)
    if (leftMs <= 0 || name === undefined) {
      this.#untilMs.delete(userId)
      return
    }
    const last = book.lastOf(null, 'pin_locked', userId)
    if (last !== undefined && (last.closedAtMs === null || last.awaitsEnd)) return
    const details = { user_id: userId, name, until: toIso(nowMs + leftMs) }
    found.changes.push(opening('pin_locked', null, userId, { hardwareId: null, details }, nowMs))
  }
}
