import { toIso } from '#shared/time.ts'
import { closing, type Findings, opening } from './findings.ts'
import type { OpenAlerts } from './open-alerts.ts'

interface PinAlertsDeps {
  users: { find(userId: string): { row: { name: string } } | undefined }
  book: OpenAlerts
}

/** Alerts about users whose PIN is locked on all tablets: one for each user, until the lock is over. */
export class PinAlerts {
  readonly #deps: PinAlertsDeps
  readonly #untilMs = new Map<string, number>()

  constructor(deps: PinAlertsDeps) {
    this.#deps = deps
  }

  locked(userId: string, untilMs: number): void {
    this.#untilMs.set(userId, untilMs)
  }

  evaluate(nowMs: number, found: Findings): void {
    const { book, users } = this.#deps
    for (const alert of book.ofCart(null)) {
      if (alert.kind !== 'pin_locked') continue
      const { subject, closedAtMs, awaitsEnd } = alert
      const untilMs = this.#untilMs.get(subject) ?? Date.parse(String(alert.details.until))
      const isOver = !(nowMs < untilMs) || users.find(subject) === undefined
      if (isOver && closedAtMs === null) found.changes.push(closing(alert, nowMs, null))
      else if (isOver && awaitsEnd) found.ended.push(alert)
    }
    for (const [userId, untilMs] of this.#untilMs) this.#evaluateLock(userId, untilMs, nowMs, found)
  }

  #evaluateLock(userId: string, untilMs: number, nowMs: number, found: Findings): void {
    const { book, users } = this.#deps
    const name = users.find(userId)?.row.name
    if (nowMs >= untilMs || name === undefined) {
      this.#untilMs.delete(userId)
      return
    }
    const last = book.lastOf(null, 'pin_locked', userId)
    if (last !== undefined && (last.closedAtMs === null || last.awaitsEnd)) return
    const details = { user_id: userId, name, until: toIso(untilMs) }
    found.changes.push(opening('pin_locked', null, userId, { hardwareId: null, details }, nowMs))
  }
}
