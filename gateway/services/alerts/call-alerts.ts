import { fromE7 } from '#shared/geo.ts'
import { kindRulesOf, type SiteSettings } from '#shared/site/settings.ts'
import { type Clock, MINUTE_MS, type MonotonicClock, toIso } from '#shared/time.ts'
import type { StoredCall } from '#store/calls/cart-calls.ts'
import type { Store } from '#store/store.ts'
import type { StoredAlert } from '#store/tables/alerts.ts'
import type { Cart } from '../cart.ts'
import type { CommandRequest } from '../commands/request.ts'
import { closing, type Findings, type FoundChange, opening } from './findings.ts'
import type { OpenAlerts } from './open-alerts.ts'

interface CallAlertsDeps {
  store: { read: Pick<Store['read'], 'newCalls' | 'callsWaitingSince'> }
  carts: { of(hardwareId: string): Cart | undefined }
  site: { readonly settings: SiteSettings }
  book: OpenAlerts
  clock: Clock & MonotonicClock
}

/** Time of receipt by both clocks; after a start the monotonic one counts from there. */
interface Receipt {
  atMs: number
  monotonicMs: number
}

/** Delay between a call and its receipt above which it counts as late. */
const LATE_MS = 5 * MINUTE_MS

/** Default texts on screens, by the language of the site. */
const REPLIES: Record<SiteSettings['language'], Record<'acknowledged' | 'closed', string>> = {
  en: { acknowledged: 'We have seen your call.', closed: 'Your call is closed.' },
  de: { acknowledged: 'Wir haben Ihren Ruf gesehen.', closed: 'Ihr Ruf ist erledigt.' },
}

/**
 * Alerts about calls from carts: one for each cart and sort of call until it is closed. The store keeps each call until
 * its alert is written, so none is lost. An unacknowledged call has waited as long as the clock or the monotonic clock
 * shows, whichever is longer: setting the clock back delays no escalation.
 */
export class CallAlerts {
  readonly #deps: CallAlertsDeps
  /** True if the store may have calls without an alert. */
  #isDue = true
  /** Receipt of the first call of each alert. */
  readonly #received = new Map<string, Receipt>()

  constructor(deps: CallAlertsDeps) {
    this.#deps = deps
  }

  load(): void {
    for (const { alertId, receivedAtMs } of this.#deps.store.read.callsWaitingSince())
      this.#received.set(alertId, this.#receiptAt(receivedAtMs))
  }

  called(): void {
    this.#isDue = true
  }

  /** Finds one change for each cart; others follow in later evaluations, in the order of the calls. */
  evaluate(nowMs: number, found: Findings): void {
    const busy = new Set<string>()
    if (this.#isDue) this.#evaluateCalls(nowMs, found, busy)
    if (this.#received.size > 0) this.#escalate(nowMs, found, busy)
  }

  #evaluateCalls(nowMs: number, found: Findings, busy: Set<string>): void {
    const { carts, store } = this.#deps
    const calls = store.read.newCalls()
    this.#isDue = calls.length > 0
    for (const call of calls) {
      const cart = carts.of(call.hardwareId)
      const change = call.call === 'cancel' ? this.#cancelled(call, nowMs) : this.#called(call, cart)
      const taken = [call.hardwareId, change?.alert.cart ?? call.hardwareId]
      const isWaiting = taken.some((one) => busy.has(one))
      for (const one of taken) busy.add(one)
      if (isWaiting) continue
      if (change === null) found.idleCallSeqs.push(call.seq)
      else found.changes.push({ ...change, callSeq: call.seq })
    }
  }

  #called({ call, callId, text, atMs, receivedAtMs, hardwareId }: StoredCall, cart?: Cart): FoundChange | null {
    const { book, site } = this.#deps
    if (cart === undefined || kindRulesOf(site.settings, cart.notes.kind).alerts?.includes('call') === false)
      return null
    const open = book.openOf(cart.key, 'call', call)
    if (open !== undefined) {
      const { details } = open
      const again = { ...details, count: Number(details.count) + 1, text: text ?? details.text }
      return { event: 'repeated', alert: { ...open, details: again }, byUserId: null }
    }
    const { position, stays } = cart.verdict
    const details = {
      call,
      call_id: callId,
      text,
      count: 1,
      lat: position === null ? null : fromE7(position.fix.latE7),
      long: position === null ? null : fromE7(position.fix.longE7),
      hole: stays.find(({ hole }) => hole !== null)?.hole ?? null,
      is_late: receivedAtMs - atMs > LATE_MS,
      escalated_at: null,
      reply: null,
    }
    const change = opening('call', cart.key, call, { hardwareId, details }, atMs)
    this.#received.set(change.alert.alertId, this.#receiptAt(receivedAtMs))
    return change
  }

  #cancelled({ cancelledAlertId }: StoredCall, nowMs: number): FoundChange | null {
    const alert = this.#openCall(cancelledAlertId)
    if (alert === undefined) return null
    return closing({ ...alert, details: { ...alert.details, reason: 'cancelled' } }, nowMs, null)
  }

  #escalate(nowMs: number, found: Findings, busy: ReadonlySet<string>): void {
    const { site, clock } = this.#deps
    const waitMs = site.settings.callEscalateMin * MINUTE_MS
    for (const [alertId, { atMs, monotonicMs }] of this.#received) {
      const isFound = found.changes.some(({ alert }) => alert.alertId === alertId)
      const waitedMs = Math.max(nowMs - atMs, clock.monotonicMs() - monotonicMs)
      if (isFound || waitedMs < waitMs) continue
      const alert = this.#openCall(alertId)
      if (alert === undefined || alert.acknowledgedAtMs !== null || alert.details.escalated_at !== null)
        this.#received.delete(alertId)
      else if (alert.subject !== 'order' && !busy.has(alert.cart ?? '')) {
        const details = { ...alert.details, escalated_at: toIso(nowMs) }
        found.changes.push({ event: 'escalated', alert: { ...alert, details }, byUserId: null })
      }
    }
  }

  #openCall(alertId: string | null): StoredAlert | undefined {
    return this.#deps.book.notClosed().find((alert) => alert.kind === 'call' && alert.alertId === alertId)
  }

  #receiptAt(atMs: number): Receipt {
    return { atMs, monotonicMs: this.#deps.clock.monotonicMs() }
  }
}

/** Message for the screens of a cart: staff have acknowledged or closed its call. */
export function replyToCall(
  { closedAtMs, details }: StoredAlert,
  reply: string | null,
  { language }: Pick<SiteSettings, 'language'>,
): CommandRequest {
  const state = closedAtMs === null ? 'acknowledged' : 'closed'
  const params = { text: reply ?? REPLIES[language][state], call_id: details.call_id, call_state: state }
  return { command: 'message', params, metadata: null, ttlS: undefined }
}
