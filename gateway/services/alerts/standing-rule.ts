import { MINUTE_MS, toIso } from '#shared/time.ts'
import type { CartRule } from './rule.ts'
import type { CartAlertState } from './rule-state.ts'
import type { SiteContext } from './site-context.ts'

/** Notice that the screens of a cart give before the lock. */
const ROUND_TIMEOUT_LOCK_MS = 2 * MINUTE_MS

/**
 * Opens when a golf cart on a round has stood unlocked for the round time-out. Time in which its party waits for the
 * party ahead does not count.
 */
export const STANDING: CartRule = {
  kind: 'standing',
  brake: null,
  evaluate(one, context, open, _subject, awaited) {
    const { verdict, notes, deviceReports } = one.cart
    const { state, isInParking, lock, position } = verdict
    const fromMs = standsFromMs(one, context)
    if (fromMs === null || notes.kind !== 'golf_cart' || notes.outOfService !== null) return 'over'
    if (isInParking || state === 'silent' || lock?.isLocked === true) return 'over'
    const known = open ?? awaited
    if (known !== undefined) return known.details.since === toIso(fromMs) ? 'unsure' : 'over'
    const isOnline = deviceReports.some((report) => report.isOnline)
    if (position === null || lock === null || !isOnline || context.course.hasRecall()) return 'unsure'
    const waitedMs = context.course.waitedMs(one.cart.key, fromMs)
    return context.nowMs - fromMs - waitedMs >= timeoutMs(context) ? 'holds' : 'unsure'
  },
  describe(one, context) {
    const { position, stays } = one.cart.verdict
    const fromMs = standsFromMs(one, context) ?? context.nowMs
    const fix = position?.fix
    const isLocked = context.settings.roundTimeoutLock && stays.some(({ locksHere }) => locksHere)
    const locksAtMs = isLocked ? context.nowMs + ROUND_TIMEOUT_LOCK_MS : null
    return {
      hardwareId: position?.hardwareId ?? null,
      details: {
        since: toIso(fromMs),
        minutes: Math.floor((context.nowMs - fromMs) / MINUTE_MS),
        ...(fix === undefined ? {} : { lat: fix.latE7 / 1e7, long: fix.longE7 / 1e7 }),
        hole: stays.find(({ type }) => type === 'hole')?.hole ?? null,
        locks_at: locksAtMs === null ? null : toIso(locksAtMs),
      },
    }
  },
}

/** Returns the time from which a cart may stand for too long; infinity where none can. */
export function standsTooLongAtMs({ cart }: CartAlertState, context: SiteContext): number {
  const { isInParking, lock } = cart.verdict
  const fromMs = standsFromMs({ cart }, context)
  if (fromMs === null || isInParking || lock?.isLocked !== false) return Number.POSITIVE_INFINITY
  return fromMs + timeoutMs(context)
}

/** Returns the time since which the cart stands; null if it moves, or without a time-out. */
function standsFromMs({ cart }: Pick<CartAlertState, 'cart'>, { settings, countFromMs }: SiteContext): number | null {
  const { stillSinceMs } = cart.verdict
  return stillSinceMs === null || settings.roundTimeoutMin === 0 ? null : Math.max(stillSinceMs, countFromMs)
}

function timeoutMs({ settings }: SiteContext): number {
  return settings.roundTimeoutMin * MINUTE_MS
}
