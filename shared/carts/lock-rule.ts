import type { SiteSettings } from '#shared/site/settings.ts'
import type { EvaluatedCart } from './cart-state.ts'

/** A speed that was measured longer ago says nothing. */
const SPEED_WITHIN_MS = 30_000

/** What comes of a lock that is asked for now. `locate`: its position must be asked for first. */
export type LockDecision = 'send' | 'locate' | 'cart_is_moving'

/**
 * Whether a cart may be locked now. One that was never seen is, and one that has no parking zone is never located
 * first: where nobody has drawn a barn its reception may be poor. A golfer may sit in any other.
 */
export function decideLock(
  { position, isInParking }: Pick<EvaluatedCart, 'position' | 'isInParking'>,
  { hasParking, isOnline }: { hasParking: boolean; isOnline: boolean },
  settings: Pick<SiteSettings, 'lockMaxSpeedKmh' | 'lockLocateAfterS'>,
  nowMs: number,
): LockDecision {
  if (position === null) return 'send'
  const ageMs = nowMs - position.fix.atMs
  if (ageMs < SPEED_WITHIN_MS && (position.fix.speedKmh ?? 0) > settings.lockMaxSpeedKmh) return 'cart_is_moving'
  const isOld = ageMs > settings.lockLocateAfterS * 1000
  return hasParking && !isInParking && isOld && isOnline ? 'locate' : 'send'
}
