import type { AlertKind } from '#shared/wire/alert-kinds.ts'
import type { StoredAlert } from '#store/tables/alerts.ts'
import type { Cart } from '../cart.ts'
import type { Arrived } from './arrived.ts'
import { stillFromMs } from './movement-rules.ts'
import { type CartAlertState, isTrackBehind, remember } from './rule-state.ts'
import type { SiteContext } from './site-context.ts'
import { hasSeenZones } from './zones-seen.ts'

/**
 * Whether nothing is another for any cart than at the look before, but for the time that has gone by; by night much is.
 */
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
 * Takes a cart as it was judged now, and what rules remember of it. False when nothing can be found in it: then nobody
 * needs to look; `isQuiet` is what `isContextUnchanged` says.
 */
export function recordEvaluation(
  one: CartAlertState,
  cart: Cart,
  isQuiet: boolean,
  ground: SiteContext,
  arrived: Arrived,
): boolean {
  const isResting = isQuiet && ground.nowMs < one.nextEvaluationAtMs && isOnlyElsewhere(one.cart, cart)
  if (isResting && one.cart === cart) return false
  remember(one, cart, ground, arrived)
  const { movedWhileLockedMs, zones } = one.memory
  if (isResting && (one.isMoveTold || movedWhileLockedMs === null) && !hasSeenZones(zones)) return false
  one.nextEvaluationAtMs = Number.NEGATIVE_INFINITY
  return true
}

/** True if the rules find nothing new in a cart but what `remember` makes of it, and that it has stood for a while. */
function isOnlyElsewhere(before: Cart, now: Cart): boolean {
  if (before === now) return true
  const [wasStillMs, isStillMs] = [before.verdict.stillSinceMs, now.verdict.stillSinceMs]
  const hasStood = wasStillMs !== null && isStillMs !== null && wasStillMs <= isStillMs
  return hasStood && before.revision.rules === now.revision.rules
}

/**
 * Until when no rule finds anything in a cart of which these alerts matter, as long as it is only elsewhere and the
 * ground quiet. All that time does to it besides is in its verdict, and makes it another.
 */
export function nextEvaluationAtMs(one: CartAlertState, alerts: readonly StoredAlert[], ground: SiteContext): number {
  const isKnown = one.memory.fixesRead === 'read' && !isTrackBehind(one, ground)
  if (!isKnown || hasSeenMove(one, alerts) || hasSeenZones(one.memory.zones)) return Number.NEGATIVE_INFINITY
  const { exempt } = one.cart.notes
  let atMs = Math.min(stopsTooLongAtMs(one.cart, ground), exempt?.untilMs ?? Number.POSITIVE_INFINITY)
  for (const alert of alerts) atMs = Math.min(atMs, mayEndAtMs(alert, one.cart, ground))
  return atMs
}

/** Whether there is one of a kind that is not closed. */
export function isOpen(alerts: readonly StoredAlert[], wanted: AlertKind): boolean {
  return alerts.some(({ kind, closedAtMs }) => kind === wanted && closedAtMs === null)
}

/** Whether it was seen that it was moved, and that is not told yet. */
function hasSeenMove({ memory }: CartAlertState, alerts: readonly StoredAlert[]): boolean {
  return (
    (memory.movedWhileLockedMs !== null && !isOpen(alerts, 'moved_while_locked')) ||
    (memory.movedAfterHoursMs !== null && !isOpen(alerts, 'moved_after_hours'))
  )
}

/** When an alert may be over by time alone, or by what is only elsewhere. */
function mayEndAtMs({ kind, closedAtMs, awaitsEnd }: StoredAlert, { verdict }: Cart, ground: SiteContext): number {
  // where it was over counts for a while; that it is heard again ends silence, and nothing but time ends a contest
  if ((closedAtMs !== null && !awaitsEnd) || kind === 'silent_on_course' || kind === 'device_twice')
    return Number.NEGATIVE_INFINITY
  if (kind !== 'moved_while_locked' && kind !== 'moved_after_hours') return Number.POSITIVE_INFINITY
  const { stillSinceMs } = verdict
  return stillSinceMs === null ? Number.NEGATIVE_INFINITY : stillFromMs(stillSinceMs, ground.countFromMs)
}

/** When it will have been in a stop zone for too long; infinite where it is in none. */
function stopsTooLongAtMs({ verdict: { stays } }: Cart, { settings, countFromMs }: SiteContext): number {
  let atMs = Number.POSITIVE_INFINITY
  for (const { type, sinceMs } of stays)
    if (type === 'stop') atMs = Math.min(atMs, Math.max(sinceMs, countFromMs) + settings.zoneStayS * 1000)
  return atMs
}
