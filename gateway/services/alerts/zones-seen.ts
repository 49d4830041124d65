import type { EvaluatedCart, ZoneStay } from '#shared/carts/cart-state.ts'
import { toE7 } from '#shared/geo.ts'
import { MINUTE_MS } from '#shared/time.ts'
import type { Cart } from '../cart.ts'
import type { ArrivedCrossing } from './arrived.ts'
import type { SiteContext } from './site-context.ts'

/** Zone events between two evaluations that need an alert, although the second evaluation no longer shows them. */
export interface ZonesSeen {
  /** Set if the cart was outside every boundary and parking zone, and is back. */
  outside: { seenMs: number; latE7: number; longE7: number } | null
  /** Dwells in stop zones that began, were too long and ended. */
  stays: { seenMs: number; zoneId: string; name: string; sinceMs: number; untilMs: number }[]
}

/** Age from which a zone event that could not be reported is dropped. */
const SEEN_MS = 5 * MINUTE_MS

/** True if the event is recent enough that its alert is still due. */
export function isJustSeen(seen: { seenMs: number } | null | undefined, nowMs: number): boolean {
  return seen != null && Math.abs(nowMs - seen.seenMs) < SEEN_MS
}

export function hasSeenZones({ outside, stays }: ZonesSeen): boolean {
  return outside !== null || stays.length > 0
}

/** Records zone events from the crossings, oldest first, between two evaluations: of the cart `before`, then `cart`. */
export function noteCrossings(
  seen: ZonesSeen,
  crossings: readonly ArrivedCrossing[],
  before: EvaluatedCart,
  cart: Cart,
  context: SiteContext,
): void {
  const { nowMs } = context
  if (hasSeenZones(seen)) {
    if (!isJustSeen(seen.outside, nowMs)) seen.outside = null
    seen.stays = seen.stays.filter((stay) => isJustSeen(stay, nowMs))
  }
  if (crossings.length < 2) return
  noteOutside(seen, crossings, before, cart, nowMs)
  noteStays(seen, crossings, context)
}

function noteOutside(
  seen: ZonesSeen,
  crossings: readonly ArrivedCrossing[],
  before: EvaluatedCart,
  { verdict, zoneContext }: Cart,
  nowMs: number,
): void {
  // dwells show whether the cart is outside now
  if (!zoneContext.hasBoundary || !isWithin(verdict.stays) || !isWithin(before.stays)) return
  const within = new Set(before.stays.filter(isBound).map(({ zoneId }) => zoneId))
  for (const [i, { event, zoneId, zoneType: type, atMs, lat, long }] of crossings.entries()) {
    if (!isBound({ type })) continue
    if (event === 'enter') within.add(zoneId)
    else within.delete(zoneId)
    // a cart may leave one zone and enter the next with the same fix
    if (within.size > 0 || crossings[i + 1]?.atMs === atMs) continue
    seen.outside = { seenMs: nowMs, latE7: toE7(lat), longE7: toE7(long) }
  }
}

function noteStays(
  seen: ZonesSeen,
  crossings: readonly ArrivedCrossing[],
  { nowMs, settings, countFromMs }: SiteContext,
): void {
  const entered = new Map<string, number>()
  for (const { event, zoneId, zoneName: name, zoneType, atMs: untilMs } of crossings) {
    if (zoneType !== 'stop') continue
    if (event === 'enter') entered.set(zoneId, untilMs)
    const sinceMs = entered.get(zoneId)
    if (event === 'enter' || sinceMs === undefined) continue
    if (untilMs - Math.max(sinceMs, countFromMs) <= settings.zoneStayS * 1000) continue
    seen.stays = seen.stays.filter((stay) => stay.zoneId !== zoneId)
    seen.stays.push({ seenMs: nowMs, zoneId, name, sinceMs, untilMs })
  }
}

function isWithin(stays: readonly ZoneStay[]): boolean {
  return stays.some(isBound)
}

function isBound({ type }: Pick<ZoneStay, 'type'>): boolean {
  return type === 'boundary' || type === 'parking'
}
