import type { AlertKind } from '#shared/wire/alert-kinds.ts'
import type { StoredAlert } from '#store/tables/alerts.ts'
import type { Cart } from '../cart.ts'
import type { Arrived } from './arrived.ts'
import { stillFromMs } from './movement-rules.ts'
import { type CartAlertState, isTrackBehind, remember } from './rule-state.ts'
import type { SiteContext } from './site-context.ts'
import { standsTooLongAtMs } from './standing-rule.ts'
import { hasSeenZones } from './zones-seen.ts'

/** True if nothing but the time differs from the context before. False at night, when rules depend on the time. */
export function isContextUnchanged(before: SiteContext | null, now: SiteContext): boolean {
  return (
    before !== null &&
    !before.isNight &&
    !now.isNight &&
    before.isDay === now.isDay &&
    before.settings === now.settings &&
    before.countFromMs === now.countFromMs &&
    before.nowMs <= now.nowMs
  )
}

/**
 * Records the evaluation of a cart and the state that rules keep for it. Returns false if no rule can find anything, so
 * that the rules are skipped; `isUnchanged` is the result of `isContextUnchanged`.
 */
export function recordEvaluation(
  one: CartAlertState,
  cart: Cart,
  isUnchanged: boolean,
  context: SiteContext,
  arrived: Arrived,
): boolean {
  const isResting = isUnchanged && context.nowMs < one.nextEvaluationAtMs && isOnlyElsewhere(one.cart, cart)
  if (isResting && one.cart === cart) return false
  remember(one, cart, context, arrived)
  const { movedWhileLockedMs, zones } = one.memory
  if (isResting && (one.isMovementReported || movedWhileLockedMs === null) && !hasSeenZones(zones)) return false
  one.nextEvaluationAtMs = Number.NEGATIVE_INFINITY
  return true
}

/** True if the rules find nothing new except from what `remember` records, and from the duration of standstill. */
function isOnlyElsewhere(before: Cart, now: Cart): boolean {
  if (before === now) return true
  const [wasStillMs, isStillMs] = [before.verdict.stillSinceMs, now.verdict.stillSinceMs]
  const hasStood = wasStillMs !== null && isStillMs !== null && wasStillMs <= isStillMs
  return hasStood && before.revision.rules === now.revision.rules
}

/**
 * Returns the time before which no rule finds anything in a cart with these alerts, as long as only its position
 * changes and the context is unchanged. All other effects of time are in its verdict, and change its revision.
 */
export function nextEvaluationAtMs(one: CartAlertState, alerts: readonly StoredAlert[], context: SiteContext): number {
  const isKnown = one.memory.fixesRead === 'read' && !isTrackBehind(one, context)
  if (!isKnown || hasSeenMove(one, alerts) || hasSeenZones(one.memory.zones)) return Number.NEGATIVE_INFINITY
  const { exempt } = one.cart.notes
  let atMs = Math.min(
    stopsTooLongAtMs(one.cart, context),
    standsTooLongAtMs(one, context),
    exempt?.untilMs ?? Number.POSITIVE_INFINITY,
  )
  for (const alert of alerts) atMs = Math.min(atMs, mayEndAtMs(alert, one, context))
  return atMs
}

export function isOpen(alerts: readonly StoredAlert[], wanted: AlertKind): boolean {
  return alerts.some(({ kind, closedAtMs }) => kind === wanted && closedAtMs === null)
}

/** True if a movement was detected that no open alert reports. */
function hasSeenMove({ memory }: CartAlertState, alerts: readonly StoredAlert[]): boolean {
  return (
    (memory.movedWhileLockedMs !== null && !isOpen(alerts, 'moved_while_locked')) ||
    (memory.movedAfterHoursMs !== null && !isOpen(alerts, 'moved_after_hours'))
  )
}

/** Returns the time from which an alert may be over by time alone, or by a change of position. */
function mayEndAtMs({ kind, closedAtMs, awaitsEnd }: StoredAlert, one: CartAlertState, context: SiteContext): number {
  // the position of the end counts for a while; new data ends a signal loss, and only time ends a contest of ids
  if (
    (closedAtMs !== null && !awaitsEnd) ||
    kind === 'silent_on_course' ||
    kind === 'device_twice' ||
    kind === 'standing'
  )
    return Number.NEGATIVE_INFINITY
  if (kind !== 'moved_while_locked' && kind !== 'moved_after_hours') return Number.POSITIVE_INFINITY
  return stillFromMs(one, context) ?? Number.NEGATIVE_INFINITY
}

/** Returns the time from which the cart has been in a stop zone for too long; infinity outside stop zones. */
function stopsTooLongAtMs({ verdict: { stays } }: Cart, { settings, countFromMs }: SiteContext): number {
  let atMs = Number.POSITIVE_INFINITY
  for (const { type, sinceMs } of stays)
    if (type === 'stop') atMs = Math.min(atMs, Math.max(sinceMs, countFromMs) + settings.zoneStayS * 1000)
  return atMs
}
