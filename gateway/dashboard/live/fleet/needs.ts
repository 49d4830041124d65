import type { AlertKind } from '#shared/wire/alert-kinds.ts'
import type { AlertJson } from '#shared/wire/alerts.ts'
import type { CartJson } from '#shared/wire/carts.ts'
import { isOrder } from '../alert-list.ts'
import { isOpenInBarn } from './fleet-order.ts'
import { byNumber, isLockedOut, isParked } from './marker-style.ts'

/** Reasons why a cart or the site needs attention, the most urgent first. */
export const REASONS = [
  'call',
  'moved_while_locked',
  'moved_after_hours',
  'outside',
  'zone_stay',
  'standing',
  'silent',
  'locked_out',
  'out_after_closing',
  'order',
  'low',
  'device_twice',
  'device_clock',
  'disk',
  'clock',
  'sync',
  'backup',
  'certificate',
  'pin_locked',
  'unlocked',
  'not_charging',
  'service_due',
  'no_position',
] as const
export type Reason = (typeof REASONS)[number]

/** List item: a cart, or the site if `cart` is null. */
export interface AttentionItem {
  cart: CartJson | null
  reason: Reason
  /** Start of the condition; for a cart without a signal, the time it was last seen. */
  at: string | null
  /** Alert that reports it. */
  alert: AlertJson | null
}

/** Group of carts with the same reason that stand in the barn or have no position yet. */
export interface NeedGroup {
  reason: Reason
  carts: CartJson[]
}

export interface AttentionItems {
  lines: AttentionItem[]
  groups: NeedGroup[]
  /** Number of carts and site-wide problems. */
  count: number
}

/** Reasons keyed by alert kind. */
const REASON_OF: Record<AlertKind, Reason> = {
  call: 'call',
  moved_while_locked: 'moved_while_locked',
  moved_after_hours: 'moved_after_hours',
  outside: 'outside',
  zone_stay: 'zone_stay',
  standing: 'standing',
  silent_on_course: 'silent',
  out_after_closing: 'out_after_closing',
  low_battery: 'low',
  open_after_closing: 'unlocked',
  not_charging: 'not_charging',
  service_due: 'service_due',
  device_twice: 'device_twice',
  device_clock: 'device_clock',
  disk: 'disk',
  clock: 'clock',
  sync: 'sync',
  backup: 'backup',
  certificate: 'certificate',
  pin_locked: 'pin_locked',
}

function reasonOf(alert: AlertJson): Reason {
  return isOrder(alert) ? 'order' : REASON_OF[alert.kind]
}

/** Reasons for which carts in the barn are combined into one line. */
const GROUPED: ReadonlySet<Reason> = new Set<Reason>(['low', 'unlocked', 'not_charging', 'no_position'])

const RANK = new Map(REASONS.map((reason, index) => [reason, index]))

/**
 * Returns everything that needs attention now. An acknowledged alert and a cart out of service do not; each cart has
 * one line, for its most urgent reason, and several carts of the barn share one.
 */
export function needsOf(carts: Iterable<CartJson>, alerts: Iterable<AlertJson>): AttentionItems {
  const [byCart, lines] = [new Map<string, AlertJson[]>(), [] as AttentionItem[]]
  for (const alert of alerts) {
    if (alert.cart !== null) push(byCart, alert.cart, alert)
    else if (alert.acknowledged_at === null)
      lines.push({ cart: null, reason: reasonOf(alert), at: alert.opened_at, alert })
  }
  const grouped = new Map<Reason, AttentionItem[]>()
  const standing = new Set<CartJson>()
  for (const cart of carts) {
    const needs = needsOfCart(cart, byCart.get(cart.cart) ?? [])
    const [worst] = needs
    if (worst === undefined) continue
    if (!isGrouped(worst)) lines.push(worst)
    else {
      standing.add(cart)
      for (const need of needs) push(grouped, need.reason, need)
    }
  }
  const count = lines.length + standing.size
  const { groups, alone } = splitGroups(grouped)
  return { lines: [...lines, ...alone].sort(byUrgency), groups, count }
}

/** Separates groups of several carts; a cart that is alone in its group gets a normal line, and only one. */
function splitGroups(grouped: ReadonlyMap<Reason, AttentionItem[]>): { groups: NeedGroup[]; alone: AttentionItem[] } {
  const groups: NeedGroup[] = []
  const alone = new Map<CartJson | null, AttentionItem>()
  for (const reason of REASONS) {
    const needs = grouped.get(reason) ?? []
    const [only] = needs
    if (needs.length > 1) groups.push({ reason, carts: needs.flatMap(({ cart }) => cart ?? []).sort(byNumber) })
    else if (only !== undefined && !alone.has(only.cart)) alone.set(only.cart, only)
  }
  return { groups, alone: [...alone.values()] }
}

/** Returns the reasons of a cart, the most urgent first. */
function needsOfCart(cart: CartJson, alerts: readonly AlertJson[]): AttentionItem[] {
  const needs = new Map<Reason, AttentionItem>()
  const seen = new Set<Reason>()
  for (const alert of alerts) {
    const reason = reasonOf(alert)
    if (alert.acknowledged_at === null) needs.set(reason, { cart, reason, at: ageOf(cart, reason, alert), alert })
    else seen.add(reason)
  }
  // alerts of other vehicles open by the rules of their kind
  if (cart.out_of_service === null && cart.kind === 'golf_cart')
    for (const reason of reasonsOf(cart))
      if (!needs.has(reason) && !seen.has(reason))
        needs.set(reason, { cart, reason, at: ageOf(cart, reason, null), alert: null })
  return [...needs.values()].sort((a, b) => rankOf(a.reason) - rankOf(b.reason))
}

/** Returns the reasons that follow from its state, with or without an alert. */
function reasonsOf(cart: CartJson): Reason[] {
  const reasons: Reason[] = []
  const mayLeave = cart.exempt?.zone_types.includes('boundary') ?? false
  if (cart.state === 'outside' && !mayLeave) reasons.push('outside')
  if (cart.state === 'silent') reasons.push('silent')
  if (isLockedOut(cart)) reasons.push('locked_out')
  if (cart.is_low) reasons.push('low')
  if (isOpenInBarn(cart)) reasons.push('unlocked')
  if (cart.state === 'unknown') reasons.push('no_position')
  return reasons
}

function ageOf(cart: CartJson, reason: Reason, alert: AlertJson | null): string | null {
  if (reason === 'silent') return cart.last_heard_at
  if (alert !== null) return alert.opened_at
  if (reason === 'low') return cart.battery?.rest_at ?? cart.battery?.at ?? null
  if (reason === 'unlocked' || reason === 'locked_out') return cart.lock?.at ?? null
  return reason === 'no_position' ? cart.last_heard_at : (cart.position?.at ?? null)
}

function isGrouped({ cart, reason }: AttentionItem): boolean {
  if (cart === null || !GROUPED.has(reason)) return false
  return isParked(cart) || reason === 'no_position'
}

function rankOf(reason: Reason): number {
  return RANK.get(reason) ?? RANK.size
}

/** Orders by urgency, then by the latest start; items without a known start by number. */
function byUrgency(a: AttentionItem, b: AttentionItem): number {
  const byRank = rankOf(a.reason) - rankOf(b.reason)
  if (byRank !== 0) return byRank
  if (a.at !== b.at) return (a.at ?? '') < (b.at ?? '') ? 1 : -1
  return a.cart === null || b.cart === null ? 0 : byNumber(a.cart, b.cart)
}

function push<Key, Value>(map: Map<Key, Value[]>, key: Key, value: Value): void {
  const known = map.get(key)
  if (known === undefined) map.set(key, [value])
  else known.push(value)
}
