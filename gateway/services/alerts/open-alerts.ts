import { MINUTE_MS } from '#shared/time.ts'
import { haversineM } from '#shared/trips/earth-distance.ts'
import type { AlertKind } from '#shared/wire/alert-kinds.ts'
import type { StoredAlert } from '#store/tables/alerts.ts'
import type { Cart } from '../cart.ts'
import type { CartRule } from './rule.ts'
import type { CartAlertState } from './rule-state.ts'
import { newMemory, used } from './rule-state.ts'
import type { SiteContext } from './site-context.ts'
import { isOpen, nextEvaluationAtMs } from './skip-unchanged.ts'

/** Time for which a closed alert may be kept from opening again. */
export const BRAKE_MS = 10 * MINUTE_MS
/** Distance from the end of an alert that counts as leaving; a receiver at an edge wanders less. */
const LEFT_M = 50

/** Last alert of a kind, cart and subject, as long as it matters for the next one. */
interface Slot {
  alert: StoredAlert
  /** True if the cart has been elsewhere since the alert was over. */
  hasLeft: boolean
}

type Slots = Map<string, Slot>

const NO_IDS: readonly string[] = []

/** Alerts in memory that matter for later ones, and the rule state of each cart. */
export class OpenAlerts {
  readonly #cases = new Map<string, CartAlertState>()
  /** Keyed by cart; null for the site. */
  readonly #slots = new Map<string | null, Slots>()
  readonly #openIds = new Map<string, readonly string[]>()

  /** Loads alerts, which are ordered oldest first. */
  load(alerts: readonly StoredAlert[]): void {
    for (const alert of alerts) this.put(alert)
  }

  /** Returns the state of a cart; its `cart` is the one of the last evaluation. */
  caseOf(cart: Cart): CartAlertState {
    const known = this.#cases.get(cart.key)
    if (known !== undefined) return known
    const one: CartAlertState = {
      cart,
      nextEvaluationAtMs: Number.NEGATIVE_INFINITY,
      isMovementReported: false,
      memory: newMemory(),
    }
    this.#cases.set(cart.key, one)
    return one
  }

  /** Sets the next evaluation of a cart after one without findings. */
  rest(one: CartAlertState, context: SiteContext): void {
    const alerts = this.ofCart(one.cart.key)
    one.nextEvaluationAtMs = nextEvaluationAtMs(one, alerts, context)
    one.isMovementReported = isOpen(alerts, 'moved_while_locked')
  }

  /** Forces an evaluation after an event that does not change the cart itself. */
  wake(cart: string): void {
    const one = this.#cases.get(cart)
    if (one !== undefined) one.nextEvaluationAtMs = Number.NEGATIVE_INFINITY
  }

  cases(): Iterable<CartAlertState> {
    return this.#cases.values()
  }

  openOf(cart: string | null, kind: AlertKind, subject: string): StoredAlert | undefined {
    const alert = this.#slots.get(cart)?.get(slotKey(kind, subject))?.alert
    return alert?.closedAtMs === null ? alert : undefined
  }

  /** Returns the last alert that matters, closed or not. */
  lastOf(cart: string | null, kind: AlertKind, subject: string): StoredAlert | undefined {
    return this.#slots.get(cart)?.get(slotKey(kind, subject))?.alert
  }

  hasAny(cart: string | null): boolean {
    return this.#slots.has(cart)
  }

  subjectsOf(cart: string | null, kind: AlertKind): string[] {
    return this.ofCart(cart).flatMap((alert) => (alert.kind === kind ? [alert.subject] : []))
  }

  /** Returns the alerts of a cart, or of the site for null. */
  ofCart(cart: string | null): StoredAlert[] {
    const slots = this.#slots.get(cart)
    return slots === undefined ? [] : Array.from(slots.values(), ({ alert }) => alert)
  }

  /** Returns the carts with alerts that matter; null for the site. */
  carts(): Iterable<string | null> {
    return this.#slots.keys()
  }

  all(): StoredAlert[] {
    return [...this.#slots.values()].flatMap((slots) => [...slots.values()].map(({ alert }) => alert))
  }

  /** Returns the alerts that are not closed, oldest first. */
  notClosed(): StoredAlert[] {
    return this.all()
      .filter(({ closedAtMs }) => closedAtMs === null)
      .sort((a, b) => a.openedAtMs - b.openedAtMs)
  }

  /** Returns the ids of a cart's alerts that are not closed, oldest first; the same array while nothing changes. */
  openIdsOf(cart: string): readonly string[] {
    return this.#openIds.get(cart) ?? NO_IDS
  }

  countOpen(kind: AlertKind): number {
    let count = 0
    for (const slots of this.#slots.values())
      for (const { alert } of slots.values()) if (alert.kind === kind && alert.closedAtMs === null) count++
    return count
  }

  put(alert: StoredAlert): void {
    const { cart, kind, subject } = alert
    const slots: Slots = this.#slots.get(cart) ?? new Map()
    const key = slotKey(kind, subject)
    const last = slots.get(key)?.alert
    // an older alert may be acknowledged, and must not replace the current one
    if (last !== undefined && last.alertId !== alert.alertId && alert.closedAtMs !== null && !alert.awaitsEnd)
      if (last.closedAtMs === null || last.awaitsEnd) return
    slots.set(key, { alert, hasLeft: false })
    const one = cart === null ? undefined : this.#cases.get(cart)
    if (one !== undefined) {
      one.nextEvaluationAtMs = Number.NEGATIVE_INFINITY
      used(one.memory, kind, subject)
    }
    this.#slots.set(cart, slots)
    this.#noteOpen(cart)
  }

  /** Removes an alert that a user had closed, once its condition is over. */
  ended(alert: StoredAlert): void {
    const slots = this.#slots.get(alert.cart)
    slots?.delete(slotKey(alert.kind, alert.subject))
    if (slots?.size === 0) this.#slots.delete(alert.cart)
  }

  /** Removes a cart and its alerts, except those that are still open or await their end. */
  forgetCart(cart: string): void {
    this.#cases.delete(cart)
    const slots = this.#slots.get(cart)
    if (slots === undefined) return
    for (const [key, { alert }] of slots) if (alert.closedAtMs !== null && !alert.awaitsEnd) slots.delete(key)
    if (slots.size === 0) this.#slots.delete(cart)
  }

  /** True if an alert whose condition holds must not open: it is open, closed by a user, or was over a moment ago. */
  isHeldBack(rule: Pick<CartRule, 'kind' | 'brake'>, subject: string, one: CartAlertState, nowMs: number): boolean {
    const slot = this.#slots.get(one.cart.key)?.get(slotKey(rule.kind, subject))
    if (slot === undefined) return false
    const { closedAtMs, awaitsEnd } = slot.alert
    if (closedAtMs === null || awaitsEnd) return true
    return rule.brake !== null && isRecent(closedAtMs, nowMs) && !this.#hasLeft(rule, slot, one)
  }

  /** Records that a cart left the position where an alert was over, and removes alerts that no longer matter. */
  age(one: CartAlertState, nowMs: number): void {
    const { key } = one.cart
    const slots = this.#slots.get(key)
    if (slots === undefined) return
    for (const [name, slot] of slots) {
      const { closedAtMs, awaitsEnd } = slot.alert
      if (closedAtMs === null || awaitsEnd) continue
      if (!isRecent(closedAtMs, nowMs)) slots.delete(name)
      else slot.hasLeft ||= isElsewhere(slot.alert, one)
    }
    if (slots.size === 0) this.#slots.delete(key)
  }

  #hasLeft({ brake }: Pick<CartRule, 'brake'>, slot: Slot, one: CartAlertState): boolean {
    return brake === 'place' && (slot.alert.endedAt === null || slot.hasLeft || isElsewhere(slot.alert, one))
  }

  #noteOpen(cart: string | null): void {
    if (cart === null) return
    const open = this.ofCart(cart)
      .filter(({ closedAtMs }) => closedAtMs === null)
      .sort((a, b) => a.openedAtMs - b.openedAtMs)
    if (open.length === 0) this.#openIds.delete(cart)
    else
      this.#openIds.set(
        cart,
        open.map(({ alertId }) => alertId),
      )
  }
}

function slotKey(kind: AlertKind, subject: string): string {
  return subject === '' ? kind : `${kind} ${subject}`
}

/** Compares in both directions, because the clock may have been set back since. */
function isRecent(closedAtMs: number, nowMs: number): boolean {
  return Math.abs(nowMs - closedAtMs) < BRAKE_MS
}

function isElsewhere({ endedAt }: StoredAlert, { cart }: CartAlertState): boolean {
  const fix = cart.verdict.position?.fix
  if (endedAt === null || fix === undefined) return false
  return haversineM(endedAt.latE7, endedAt.longE7, fix.latE7, fix.longE7) > LEFT_M
}
