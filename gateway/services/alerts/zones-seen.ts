import type { EvaluatedCart, ZoneStay } from '#shared/carts/cart-state.ts'
import { toE7 } from '#shared/geo.ts'
import { MINUTE_MS } from '#shared/time.ts'
import type { Cart } from '../cart.ts'
import type { ArrivedCrossing } from './arrived.ts'
import type { SiteContext } from './site-context.ts'

/** What happened between two looks and an alert is due for, although the second look shows nothing of it. */
export interface ZonesSeen {
  /** It was outside of every boundary and of parking, and is back. */
  outside: { seenMs: number; latE7: number; longE7: number } | null
  /** Stays in stop zones that began, were too long and ended. */
  stays: { seenMs: number; zoneId: string; name: string; sinceMs: number; untilMs: number }[]
}

/** What was seen and could not be reported for so long is not reported any more. */
const SEEN_MS = 5 * MINUTE_MS

/** Whether something was seen, so lately that an alert is still due. */
export function isJustSeen(seen: { seenMs: number } | null | undefined, nowMs: number): boolean {
  return seen != null && Math.abs(nowMs - seen.seenMs) < SEEN_MS
}

export function hasSeenZones({ outside, stays }: ZonesSeen): boolean {
  return outside !== null || stays.length > 0
}

/**
 * Notes what the crossings between two looks show, oldest first; `before` is the cart at the first, `cart` at the
 * second.
 */
export function noteCrossings(
  seen: ZonesSeen,
  crossings: readonly ArrivedCrossing[],
  before: EvaluatedCart,
  cart: Cart,
  ground: SiteContext,
): void {
  const { nowMs } = ground
  if (hasSeenZones(seen)) {
    if (!isJustSeen(seen.outside, nowMs)) seen.outside = null
    seen.stays = seen.stays.filter((stay) => isJustSeen(stay, nowMs))
  }
  if (crossings.length < 2) return
  noteOutside(seen, crossings, before, cart, nowMs)
  noteStays(seen, crossings, ground)
}

function noteOutside(
  seen: ZonesSeen,
  crossings: readonly ArrivedCrossing[],
  before: EvaluatedCart,
  { verdict, ground }: Cart,
  nowMs: number,
): void {
  // whether it is outside now its stays say
  if (!ground.hasBoundary || !isWithin(verdict.stays) || !isWithin(before.stays)) return
  const within = new Set(before.stays.filter(isBound).map(({ zoneId }) => zoneId))
  for (const [i, { event, zoneId, zoneType: type, atMs, lat, long }] of crossings.entries()) {
    if (!isBound({ type })) continue
    if (event === 'enter') within.add(zoneId)
    else within.delete(zoneId)
    // it may leave one and enter the next by the same fix
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
