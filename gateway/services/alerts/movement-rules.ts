import { MINUTE_MS, toIso } from '#shared/time.ts'
import type { AlertDetails, CartRule, RuleResult } from './rule.ts'
import type { CartAlertState, CartRuleState } from './rule-state.ts'
import type { SiteContext } from './site-context.ts'

const STILL_MS = 5 * MINUTE_MS
/** What was seen and could not be told for so long is not told any more. */
const SEEN_MS = 5 * MINUTE_MS

/** It was moved although it is locked. */
export const MOVED_WHILE_LOCKED: CartRule = movementRule('moved_while_locked', 'movedWhileLockedMs')

/** It was moved after closing time and before opening. */
export const MOVED_AFTER_HOURS: CartRule = movementRule('moved_after_hours', 'movedAfterHoursMs')

function movementRule(kind: CartRule['kind'], seen: 'movedWhileLockedMs' | 'movedAfterHoursMs'): CartRule {
  return {
    kind,
    brake: null,
    evaluate: (one, ground, open) => evaluateMovement(one, ground, open === undefined ? one.memory[seen] : null),
    tell: tellPlace,
  }
}

function evaluateMovement(
  one: CartAlertState,
  ground: SiteContext,
  seenMs: CartRuleState['movedAfterHoursMs'],
): RuleResult {
  if (seenMs !== null && Math.abs(ground.nowMs - seenMs) < SEEN_MS) return 'holds'
  return isStill(one, ground) ? 'over' : 'unsure'
}

/**
 * Whether it has stood for five minutes, for all that is known. Of one that is gone nobody knows: it may be on a
 * trailer.
 */
function isStill({ cart: { verdict, said } }: CartAlertState, { nowMs, countFromMs }: SiteContext): boolean {
  const { stillSinceMs, heardAtMs, isAsleep } = verdict
  if (stillSinceMs === null) return false
  const untilMs = stillFromMs(stillSinceMs, countFromMs)
  const isThere = isAsleep || said.some(({ isOnline }) => isOnline) || (heardAtMs ?? 0) >= untilMs
  return nowMs >= untilMs && isThere
}

/** From when on a cart that has not moved since then has stood for long enough. */
export function stillFromMs(stillSinceMs: number, countFromMs: number): number {
  return Math.max(stillSinceMs, countFromMs) + STILL_MS
}

function tellPlace({ cart: { verdict } }: CartAlertState): AlertDetails {
  const { position } = verdict
  if (position === null) return { hardwareId: null, details: {} }
  const { latE7, longE7, atMs } = position.fix
  return {
    hardwareId: position.hardwareId,
    details: { lat: latE7 / 1e7, long: longE7 / 1e7, at: toIso(atMs) },
  }
}
