import type { Cart } from '../cart.ts'
import type { CartCase } from './memory.ts'
import type { CartRule } from './rule.ts'

/** It is outside of every boundary. */
export const OUTSIDE: CartRule = {
  kind: 'outside',
  brake: 'place',
  judge({ cart: { verdict, ground, notes } }, { nowMs }) {
    if (!ground.hasBoundary) return 'over'
    if (verdict.position === null) return 'unsure'
    // the stays themselves have waited for a second fix
    if (verdict.isInParking || isInBoundary(verdict)) return 'over'
    const { exempt } = notes
    const mayLeave = exempt !== null && nowMs < exempt.untilMs && exempt.zoneTypes.includes('boundary')
    return mayLeave ? 'unsure' : 'holds'
  },
  tell({ cart: { verdict } }) {
    const { position } = verdict
    return {
      hardwareId: position?.hardwareId ?? null,
      details: position === null ? {} : { lat: position.fix.latE7 / 1e7, long: position.fix.longE7 / 1e7 },
    }
  },
}

function isInBoundary({ stays }: Cart['verdict']): boolean {
  for (const { type } of stays) if (type === 'boundary') return true
  return false
}

const NONE: readonly string[] = []

/** It has been in a stop zone for too long. */
export const ZONE_STAY: CartRule = {
  kind: 'zone_stay',
  brake: 'place',
  subjectsOf({ verdict: { stays } }: Cart) {
    let zoneIds: string[] | undefined
    for (const { type, zoneId } of stays) {
      if (type !== 'stop') continue
      zoneIds ??= []
      zoneIds.push(zoneId)
    }
    return zoneIds ?? NONE
  },
  judge({ cart }, { nowMs, settings, countFromMs }, _open, zoneId) {
    const stay = stopStay(cart, zoneId)
    if (stay === undefined) return cart.verdict.position === null ? 'unsure' : 'over'
    const { exempt } = cart.notes
    if (exempt !== null && nowMs < exempt.untilMs) return 'unsure'
    const stayedMs = nowMs - Math.max(stay.sinceMs, countFromMs)
    return stayedMs > settings.zoneStayS * 1000 ? 'holds' : 'unsure'
  },
  tell({ cart }: CartCase, { nowMs, countFromMs }, zoneId) {
    const stay = stopStay(cart, zoneId)
    const sinceMs = Math.max(stay?.sinceMs ?? nowMs, countFromMs)
    return {
      hardwareId: cart.verdict.position?.hardwareId ?? null,
      details: { zone_id: zoneId, name: stay?.name ?? null, seconds: Math.floor((nowMs - sinceMs) / 1000) },
    }
  },
}

function stopStay({ verdict: { stays } }: Cart, zoneId: string) {
  return stays.find((stay) => stay.zoneId === zoneId && stay.type === 'stop')
}
