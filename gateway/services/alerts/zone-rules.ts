import type { Cart } from '../cart.ts'
import type { CartRule } from './rule.ts'
import type { CartAlertState, CartRuleState } from './rule-state.ts'
import { isJustSeen } from './zones-seen.ts'

/** Opens when a cart is outside every boundary. */
export const OUTSIDE: CartRule = {
  kind: 'outside',
  brake: 'place',
  evaluate({ cart: { verdict, zoneContext, notes }, memory }, { nowMs }, open) {
    if (!zoneContext.hasBoundary) return 'over'
    if (verdict.position === null) return 'unsure'
    // no delay here: a dwell itself starts only after a second fix
    const isBack = verdict.isInParking || isInBoundary(verdict)
    if (isBack && (open !== undefined || !isJustSeen(memory.zones.outside, nowMs))) return 'over'
    const { exempt } = notes
    const mayLeave = exempt !== null && nowMs < exempt.untilMs && exempt.zoneTypes.includes('boundary')
    return mayLeave ? 'unsure' : 'holds'
  },
  describe({ cart: { verdict }, memory }) {
    const { position } = verdict
    const isBack = verdict.isInParking || isInBoundary(verdict)
    const place = isBack ? (memory.zones.outside ?? position?.fix) : position?.fix
    return {
      hardwareId: position?.hardwareId ?? null,
      details: place === undefined ? {} : { lat: place.latE7 / 1e7, long: place.longE7 / 1e7 },
    }
  },
}

function isInBoundary({ stays }: Cart['verdict']): boolean {
  for (const { type } of stays) if (type === 'boundary') return true
  return false
}

const NONE: readonly string[] = []

/** Opens when a cart has been in a stop zone for too long. */
export const ZONE_STAY: CartRule = {
  kind: 'zone_stay',
  brake: 'place',
  subjectsOf({ cart: { verdict }, memory }) {
    let zoneIds: string[] | undefined
    for (const { zoneId } of memory.zones.stays) {
      zoneIds ??= []
      zoneIds.push(zoneId)
    }
    const { stays } = verdict
    for (const { type, zoneId } of stays) {
      if (type !== 'stop') continue
      zoneIds ??= []
      if (!zoneIds.includes(zoneId)) zoneIds.push(zoneId)
    }
    return zoneIds ?? NONE
  },
  evaluate({ cart, memory }, { nowMs, settings, countFromMs }, open, zoneId) {
    const stay = stopStay(cart, zoneId)
    if (open === undefined && isJustSeen(endedDwell(memory, zoneId), nowMs)) {
      const { exempt } = cart.notes
      return exempt !== null && nowMs < exempt.untilMs ? 'unsure' : 'holds'
    }
    if (stay === undefined) return cart.verdict.position === null ? 'unsure' : 'over'
    const { exempt } = cart.notes
    if (exempt !== null && nowMs < exempt.untilMs) return 'unsure'
    const stayedMs = nowMs - Math.max(stay.sinceMs, countFromMs)
    return stayedMs > settings.zoneStayS * 1000 ? 'holds' : 'unsure'
  },
  describe({ cart, memory }: CartAlertState, { nowMs, countFromMs }, zoneId) {
    const ended = endedDwell(memory, zoneId)
    const stay = ended ?? stopStay(cart, zoneId)
    const sinceMs = Math.max(stay?.sinceMs ?? nowMs, countFromMs)
    const untilMs = ended?.untilMs ?? nowMs
    return {
      hardwareId: cart.verdict.position?.hardwareId ?? null,
      details: { zone_id: zoneId, name: stay?.name ?? null, seconds: Math.floor((untilMs - sinceMs) / 1000) },
    }
  },
}

function endedDwell({ zones }: CartRuleState, zoneId: string) {
  return zones.stays.find((stay) => stay.zoneId === zoneId)
}

function stopStay({ verdict: { stays } }: Cart, zoneId: string) {
  return stays.find((stay) => stay.zoneId === zoneId && stay.type === 'stop')
}
