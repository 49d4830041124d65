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

/** For so long one that was over may be held back. */
export const BRAKE_MS = 10 * MINUTE_MS
/** A receiver at an edge wanders less from where it was over. */
const LEFT_M = 50

/** The last alert of a kind, a cart and a subject, as long as it matters for the next. */
interface Slot {
  alert: StoredAlert
  /** The cart has been elsewhere since it was over. */
  hasLeft: boolean
}

type Slots = Map<string, Slot>

const NO_IDS: readonly string[] = []

/** The alerts that matter for what comes, in memory, and what rules remember of each cart. */
export class OpenAlerts {
  readonly #cases = new Map<string, CartAlertState>()
  /** By cart, null for the site. */
  readonly #slots = new Map<string | null, Slots>()
  readonly #openIds = new Map<string, readonly string[]>()

  /** Oldest first. */
  load(alerts: readonly StoredAlert[]): void {
    for (const alert of alerts) this.put(alert)
  }

  /** The case of a cart; `cart` is the one that was looked at last. */
  caseOf(cart: Cart): CartAlertState {
    const known = this.#cases.get(cart.key)
    if (known !== undefined) return known
    const one: CartAlertState = {
      cart,
      nextEvaluationAtMs: Number.NEGATIVE_INFINITY,
      isMoveTold: false,
      memory: newMemory(),
    }
    this.#cases.set(cart.key, one)
    return one
  }

  /** A look found nothing in the case, and need not be repeated for a while. */
  rest(one: CartAlertState, ground: SiteContext): void {
    const alerts = this.ofCart(one.cart.key)
    one.nextEvaluationAtMs = nextEvaluationAtMs(one, alerts, ground)
    one.isMoveTold = isOpen(alerts, 'moved_while_locked')
  }

  /** Something happened to a cart that does not make it another: it is looked at. */
  wake(cart: string): void {
    const one = this.#cases.get(cart)
    if (one !== undefined) one.nextEvaluationAtMs = Number.NEGATIVE_INFINITY
  }

  cases(): Iterable<CartAlertState> {
    return this.#cases.values()
  }

  /** The alert of these that is not closed. */
  openOf(cart: string | null, kind: AlertKind, subject: string): StoredAlert | undefined {
    const alert = this.#slots.get(cart)?.get(slotKey(kind, subject))?.alert
    return alert?.closedAtMs === null ? alert : undefined
  }

  /** The last one that matters, closed or not. */
  lastOf(cart: string | null, kind: AlertKind, subject: string): StoredAlert | undefined {
    return this.#slots.get(cart)?.get(slotKey(kind, subject))?.alert
  }

  hasAny(cart: string | null): boolean {
    return this.#slots.has(cart)
  }

  /** What alerts of a kind that matter are about. */
  subjectsOf(cart: string | null, kind: AlertKind): string[] {
    return this.ofCart(cart).flatMap((alert) => (alert.kind === kind ? [alert.subject] : []))
  }

  /** Of a cart, or of the site. */
  ofCart(cart: string | null): StoredAlert[] {
    const slots = this.#slots.get(cart)
    return slots === undefined ? [] : Array.from(slots.values(), ({ alert }) => alert)
  }

  /** Carts of which alerts matter. */
  carts(): Iterable<string | null> {
    return this.#slots.keys()
  }

  /** All that matter. */
  all(): StoredAlert[] {
    return [...this.#slots.values()].flatMap((slots) => [...slots.values()].map(({ alert }) => alert))
  }

  /** Those that are not closed, oldest first. */
  notClosed(): StoredAlert[] {
    return this.all()
      .filter(({ closedAtMs }) => closedAtMs === null)
      .sort((a, b) => a.openedAtMs - b.openedAtMs)
  }

  /** Of those of a cart that are not closed, oldest first; the same array while nothing changes. */
  openIdsOf(cart: string): readonly string[] {
    return this.#openIds.get(cart) ?? NO_IDS
  }

  countOpen(kind: AlertKind): number {
    let count = 0
    for (const slots of this.#slots.values())
      for (const { alert } of slots.values()) if (alert.kind === kind && alert.closedAtMs === null) count++
    return count
  }

  /** Takes an alert as it is stored now. */
  put(alert: StoredAlert): void {
    const { cart, kind, subject } = alert
    const slots: Slots = this.#slots.get(cart) ?? new Map()
    const key = slotKey(kind, subject)
    const last = slots.get(key)?.alert
    // somebody acknowledges an old one
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

  /** It is over what a person had closed. */
  ended(alert: StoredAlert): void {
    const slots = this.#slots.get(alert.cart)
    slots?.delete(slotKey(alert.kind, alert.subject))
    if (slots?.size === 0) this.#slots.delete(alert.cart)
  }

  /** Forgets a cart that is gone, but what is still open. */
  forgetCart(cart: string): void {
    this.#cases.delete(cart)
    const slots = this.#slots.get(cart)
    if (slots === undefined) return
    for (const [key, { alert }] of slots) if (alert.closedAtMs !== null && !alert.awaitsEnd) slots.delete(key)
    if (slots.size === 0) this.#slots.delete(cart)
  }

  /** Whether one that holds is kept from being opened: it is open, a person closed it, or it was over a moment ago. */
  isHeldBack(rule: Pick<CartRule, 'kind' | 'brake'>, subject: string, one: CartAlertState, nowMs: number): boolean {
    const slot = this.#slots.get(one.cart.key)?.get(slotKey(rule.kind, subject))
    if (slot === undefined) return false
    const { closedAtMs, awaitsEnd } = slot.alert
    if (closedAtMs === null || awaitsEnd) return true
    return rule.brake !== null && isRecent(closedAtMs, nowMs) && !this.#hasLeft(rule, slot, one)
  }

  /** Takes note of carts that leave where an alert was over, and forgets what matters no more. */
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

/** A clock may have been set back since. */
function isRecent(closedAtMs: number, nowMs: number): boolean {
  return Math.abs(nowMs - closedAtMs) < BRAKE_MS
}

function isElsewhere({ endedAt }: StoredAlert, { cart }: CartAlertState): boolean {
  const fix = cart.verdict.position?.fix
  if (endedAt === null || fix === undefined) return false
  return haversineM(endedAt.latE7, endedAt.longE7, fix.latE7, fix.longE7) > LEFT_M
}
