import { newUuid } from '#shared/ids.ts'
import { kindRulesOf } from '#shared/site/settings.ts'
import type { AlertKind } from '#shared/wire/alert-kinds.ts'
import type { AlertEvent } from '#shared/wire/alerts.ts'
import type { StoredAlert } from '#store/tables/alerts.ts'
import type { Cart } from '../cart.ts'
import { CART_RULES } from './cart-rules.ts'
import type { OpenAlerts } from './open-alerts.ts'
import type { AlertDetails, CartRule } from './rule.ts'
import type { CartAlertState } from './rule-state.ts'
import type { SiteContext } from './site-context.ts'
import { SITE_RULES, type SiteFacts } from './site-rules.ts'

/** Change to an alert that is found, but not yet written. */
export interface FoundChange {
  event: AlertEvent
  alert: StoredAlert
  /** Null for automatic changes. */
  byUserId: string | null
  /** Stored call that caused it. */
  callSeq?: number
}

/** Result of an evaluation, before anything is written. */
export interface Findings {
  changes: FoundChange[]
  /** Alerts closed by users whose condition is now over. */
  ended: StoredAlert[]
  /** Stored calls that change no alert. */
  idleCallSeqs: number[]
}

export function noFindings(): Findings {
  return { changes: [], ended: [], idleCallSeqs: [] }
}

export function evaluateCart(book: OpenAlerts, one: CartAlertState, context: SiteContext, found: Findings): void {
  const { key } = one.cart
  // most carts have no alert that matters
  const hasAny = book.hasAny(key)
  const { alerts } = kindRulesOf(context.settings, one.cart.notes.kind)
  const weighing = { book, one, context, found, hasAny, alerts }
  for (const rule of CART_RULES) {
    if (rule.subjectsOf === undefined) {
      weigh(weighing, rule, '')
      continue
    }
    const subjects = rule.subjectsOf(one, context)
    for (const subject of subjects) weigh(weighing, rule, subject)
    if (!hasAny) continue
    for (const subject of book.subjectsOf(key, rule.kind))
      if (!subjects.includes(subject)) weigh(weighing, rule, subject)
  }
  if (hasAny) book.age(one, context.nowMs)
}

/** Input shared by all rules of one cart. */
interface Weighing {
  book: OpenAlerts
  one: CartAlertState
  context: SiteContext
  found: Findings
  /** True if any alert of the cart matters. */
  hasAny: boolean
  /** Alert kinds that open for carts of this kind; null for all. */
  alerts: readonly string[] | null
}

function weigh({ book, one, context, found, hasAny, alerts }: Weighing, rule: CartRule, subject: string): void {
  const { cart } = one
  const last = hasAny ? book.lastOf(cart.key, rule.kind, subject) : undefined
  const open = last?.closedAtMs === null ? last : undefined
  const result =
    alerts?.includes(rule.kind) === false
      ? 'over'
      : rule.evaluate(one, context, open, subject, last?.awaitsEnd ? last : undefined)
  if (result === 'unsure') return
  if (result === 'over') {
    if (open !== undefined) found.changes.push(closing(open, context.nowMs, placeOf(rule, cart)))
    else if (last?.awaitsEnd) found.ended.push(last)
    return
  }
  if (last !== undefined && book.isHeldBack(rule, subject, one, context.nowMs)) return
  if (cart.notes.outOfService !== null) return
  const { hardwareId, details } = rule.describe(one, context, subject)
  const alertDetails = { hardwareId: hardwareId ?? cart.devices[0]?.row.hardwareId ?? null, details }
  found.changes.push(opening(rule.kind, cart.key, subject, alertDetails, context.nowMs))
}

/** Evaluates the rules of the site; PIN locks of users are in `PinAlerts`. */
export function evaluateSite(book: OpenAlerts, facts: SiteFacts, nowMs: number, found: Findings): void {
  for (const rule of SITE_RULES) {
    const last = book.lastOf(null, rule.kind, '')
    const isOpen = last?.closedAtMs === null
    const result = rule.evaluate(facts)
    if (result === 'over') {
      if (isOpen) found.changes.push(closing(last, nowMs, null))
      else if (last?.awaitsEnd) found.ended.push(last)
    } else if (result === 'holds' && !isOpen && last?.awaitsEnd !== true) {
      const alertDetails = { hardwareId: null, details: rule.describe(facts) }
      found.changes.push(opening(rule.kind, null, '', alertDetails, nowMs))
    }
  }
}

/** Closes the alerts of a removed cart. */
export function evaluateRemoved(book: OpenAlerts, cart: string, nowMs: number, found: Findings): void {
  for (const alert of book.ofCart(cart)) {
    if (alert.awaitsEnd) found.ended.push(alert)
    if (alert.closedAtMs !== null) continue
    const removed = { ...alert, details: { ...alert.details, reason: 'removed' } }
    found.changes.push(closing(removed, nowMs, null))
  }
}

export function opening(
  kind: AlertKind,
  cart: string | null,
  subject: string,
  { hardwareId, details }: AlertDetails,
  nowMs: number,
): FoundChange {
  const alert: StoredAlert = {
    alertId: newUuid(),
    kind,
    cart,
    hardwareId,
    subject,
    details,
    openedAtMs: nowMs,
    closedAtMs: null,
    acknowledgedAtMs: null,
    acknowledgedBy: null,
    note: null,
    awaitsEnd: false,
    endedAt: null,
  }
  return { event: 'opened', alert, byUserId: null }
}

export function closing(alert: StoredAlert, nowMs: number, endedAt: StoredAlert['endedAt']): FoundChange {
  // the clock may have been set back since the opening
  const closedAtMs = Math.max(nowMs, alert.openedAtMs)
  return { event: 'closed', alert: { ...alert, closedAtMs, awaitsEnd: false, endedAt }, byUserId: null }
}

function placeOf({ brake }: CartRule, { verdict }: Cart): StoredAlert['endedAt'] {
  const fix = verdict.position?.fix
  return brake !== 'place' || fix === undefined ? null : { latE7: fix.latE7, longE7: fix.longE7 }
}
