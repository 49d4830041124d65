import type { Cart } from '../cart.ts'
import type { AlertGround } from './ground.ts'
import type { CartCase } from './memory.ts'

/** Whether nothing is another for any cart than at the look before, but for the time that has gone by; by night much is. */
export function isQuietGround(before: AlertGround | null, now: AlertGround): boolean {
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
 * Until when no rule finds anything in a cart of which no alert matters, as long as it is the same and the ground quiet. All that
 * time does to it besides is in its verdict and its notes, and makes it another.
 */
export function quietUntilMs({ cart, memory }: CartCase, ground: AlertGround): number {
  const hasMoved = memory.movedWhileLockedMs !== null || memory.movedAfterHoursMs !== null
  if (hasMoved || memory.fixesRead !== 'read') return Number.NEGATIVE_INFINITY
  return stopsTooLongAtMs(cart, ground)
}

/** When it will have been in a stop zone for too long; infinite where it is in none. */
function stopsTooLongAtMs({ verdict: { stays } }: Cart, { settings, countFromMs }: AlertGround): number {
  let atMs = Number.POSITIVE_INFINITY
  for (const { type, sinceMs } of stays)
    if (type === 'stop') atMs = Math.min(atMs, Math.max(sinceMs, countFromMs) + settings.zoneStayS * 1000)
  return atMs
}
