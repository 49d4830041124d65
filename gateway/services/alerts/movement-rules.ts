import { MINUTE_MS, toIso } from '#shared/time.ts'
import type { AlertDetails, CartRule, RuleResult } from './rule.ts'
import type { CartAlertState, CartRuleState } from './rule-state.ts'
import type { SiteContext } from './site-context.ts'

const STILL_MS = 5 * MINUTE_MS
/** Age from which a detected movement that could not be reported is dropped. */
const SEEN_MS = 5 * MINUTE_MS

export const MOVED_WHILE_LOCKED: CartRule = movementRule('moved_while_locked', 'movedWhileLockedMs')

export const MOVED_AFTER_HOURS: CartRule = movementRule('moved_after_hours', 'movedAfterHoursMs')

function movementRule(kind: CartRule['kind'], seen: 'movedWhileLockedMs' | 'movedAfterHoursMs'): CartRule {
  return {
    kind,
    brake: null,
    evaluate: (one, context, open) => evaluateMovement(one, context, open === undefined ? one.memory[seen] : null),
    describe: describePosition,
  }
}

function evaluateMovement(
  one: CartAlertState,
  context: SiteContext,
  seenMs: CartRuleState['movedAfterHoursMs'],
): RuleResult {
  if (seenMs !== null && Math.abs(context.nowMs - seenMs) < SEEN_MS) return 'holds'
  return isStill(one, context) ? 'over' : 'unsure'
}

/** True if the cart is known to have stood for five minutes. A cart out of reach may be on a trailer. */
function isStill(one: CartAlertState, context: SiteContext): boolean {
  const { verdict, deviceReports } = one.cart
  const { lastSeenAtMs, isAsleep } = verdict
  const untilMs = stillFromMs(one, context)
  if (untilMs === null) return false
  const isThere = isAsleep || deviceReports.some(({ isOnline }) => isOnline) || (lastSeenAtMs ?? 0) >= untilMs
  return context.nowMs >= untilMs && isThere
}

/** Returns the time from which a cart has stood for long enough, if it does not move; null for one that moves. */
export function stillFromMs({ cart, memory }: CartAlertState, { countFromMs }: SiteContext): number | null {
  const { stillSinceMs } = cart.verdict
  return stillSinceMs === null ? null : Math.max(stillSinceMs + memory.clockLagMs, countFromMs) + STILL_MS
}

function describePosition({ cart: { verdict } }: CartAlertState): AlertDetails {
  const { position } = verdict
  if (position === null) return { hardwareId: null, details: {} }
  const { latE7, longE7, atMs } = position.fix
  return {
    hardwareId: position.hardwareId,
    details: { lat: latE7 / 1e7, long: longE7 / 1e7, at: toIso(atMs) },
  }
}
