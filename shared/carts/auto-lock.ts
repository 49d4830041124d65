import { MINUTE_MS } from '#shared/time.ts'
import type { EvaluatedCart } from './cart-state.ts'

/** What a cart is judged by that may be locked because it stands still. */
export interface AutoLockFacts {
  /** So long it stands still in a parking zone before; 0 for never. */
  afterMin: number
  isClockConfirmed: boolean
  isInService: boolean
  /** Since when the device with its lock is connected; null while it is not. */
  onlineSinceMs: number | null
  /** Since when it is known to be unlocked; null when it is locked, or nobody knows. */
  unlockedSinceMs: number | null
  /** When it was locked for standing still last; null for never. */
  lockedAtMs: number | null
}

type Standing = Pick<EvaluatedCart, 'isInParking' | 'stays' | 'stillSinceMs' | 'position'>

/**
 * When a cart will be locked for standing still in its parking zone; null when it will not be. That happens once a
 * stay, and once more after each unlock. A cart that was out of reach may have gone elsewhere: as long as it has not
 * said where it is, its time runs from when it came back.
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

/** Since when it has been in parking zones; those that overlap are one. */
function parkedSince({ stays }: Pick<EvaluatedCart, 'stays'>): number {
  let sinceMs = Number.POSITIVE_INFINITY
  for (const stay of stays) if (stay.type === 'parking') sinceMs = Math.min(sinceMs, stay.sinceMs)
  return sinceMs
}
