import { MINUTE_MS } from '#shared/time.ts'
import type { EvaluatedCart } from './cart-state.ts'

export interface AutoLockFacts {
  /** Minutes that the cart must stand still in a parking zone; 0 means never. */
  afterMin: number
  isClockConfirmed: boolean
  isInService: boolean
  /** Time since which the lock device is connected; null while it is not. */
  onlineSinceMs: number | null
  /** Time since which the cart is known to be unlocked; null if it is locked or the state is unknown. */
  unlockedSinceMs: number | null
  /** Time of the last automatic lock; null for never. */
  lockedAtMs: number | null
}

type Standing = Pick<EvaluatedCart, 'isInParking' | 'stays' | 'stillSinceMs' | 'position'>

/**
 * Time at which a cart standing still in its parking zone is locked, once per stay and after each unlock; null for
 * never. A cart that was out of reach may have moved: until it reports a position, its time counts from the reconnect.
 */
export function autoLockAtMs(standing: Standing, facts: AutoLockFacts): number | null {
  const { afterMin, isClockConfirmed, isInService, onlineSinceMs, unlockedSinceMs, lockedAtMs } = facts
  if (afterMin === 0 || !isClockConfirmed || !isInService) return null
  if (onlineSinceMs === null || unlockedSinceMs === null) return null
  const { isInParking, stillSinceMs, position } = standing
  if (!isInParking || stillSinceMs === null || position === null) return null
  const parkedSinceMs = parkedSince(standing)
  const isSpent = lockedAtMs !== null && lockedAtMs >= Math.max(parkedSinceMs, unlockedSinceMs)
  if (isSpent) return null
  const knownSinceMs = position.fix.atMs < onlineSinceMs ? onlineSinceMs : 0
  const sinceMs = Math.max(parkedSinceMs, stillSinceMs, unlockedSinceMs, knownSinceMs)
  return Math.round(sinceMs + afterMin * MINUTE_MS)
}

/** Time since which the cart has been in parking zones; overlapping zones count as one. */
function parkedSince({ stays }: Pick<EvaluatedCart, 'stays'>): number {
  let sinceMs = Number.POSITIVE_INFINITY
  for (const stay of stays) if (stay.type === 'parking') sinceMs = Math.min(sinceMs, stay.sinceMs)
  return sinceMs
}
