import type { SiteSettings } from '#shared/site/settings.ts'
import type { EvaluatedCart } from './cart-state.ts'

/** Maximum age of a measured speed that still counts. */
const SPEED_WITHIN_MS = 30_000

/** Decision on a requested lock. `locate`: a position must be requested first. */
export type LockDecision = 'send' | 'locate' | 'cart_is_moving'

/**
 * Decides if a cart may be locked now. A cart without any position may be, and a cart without parking zones is never
 * located first: where no barn is drawn, its reception there may be poor. In any other case a golfer may be on board.
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
