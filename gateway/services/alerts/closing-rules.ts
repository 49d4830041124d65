import { MINUTE_MS, toIso } from '#shared/time.ts'
import type { AlertGround } from './ground.ts'
import type { CartCase } from './memory.ts'
import type { CartRule } from './rule.ts'

/** What is locked at closing has so long to say that it is. */
const LOCKING_MS = MINUTE_MS

/** It is in the barn and not locked after closing time. */
export const OPEN_AFTER_CLOSING: CartRule = {
  kind: 'open_after_closing',
  brake: null,
  judge({ cart: { verdict, notes, ground: place } }, ground) {
    if (ground.isDay || notes.outOfService !== null || verdict.lock?.isLocked === true) return 'over'
    if (!ground.hasClosed || !place.hasParking || isBeingLocked(ground)) return 'unsure'
    return verdict.isInParking && verdict.lock !== null ? 'holds' : 'unsure'
  },
  tell: ({ cart: { verdict } }, ground) => ({
    hardwareId: verdict.lock?.hardwareId ?? null,
    details: { closed_at: toIso(ground.closedSinceMs) },
  }),
}

/** It is not in the barn after closing time. */
export const OUT_AFTER_CLOSING: CartRule = {
  kind: 'out_after_closing',
  brake: 'place',
  judge({ cart: { verdict, ground: place } }: CartCase, ground) {
    if (ground.isDay || verdict.isInParking) return 'over'
    return ground.hasClosed && place.hasParking && verdict.position !== null ? 'holds' : 'unsure'
  },
  tell: ({ cart: { verdict } }, ground) => ({
    hardwareId: verdict.position?.hardwareId ?? null,
    details: {
      closed_at: toIso(ground.closedSinceMs),
      out_since: verdict.outSinceMs === null ? null : toIso(verdict.outSinceMs),
    },
  }),
}

function isBeingLocked({ settings, nowMs, closedSinceMs }: AlertGround): boolean {
  return settings.lockAtClosing && nowMs - closedSinceMs < LOCKING_MS
}
