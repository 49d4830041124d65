import type { CartFix } from '#shared/carts/motion.ts'
import { MINUTE_MS } from '#shared/time.ts'
import { BOUND_M_PER_E7, haversineM } from '#shared/trips/earth-distance.ts'

/** A cart that gets so far within `WITHIN_MS` was moved; a receiver at rest wanders less. */
const MOVED_M = 30
const WITHIN_MS = 2 * MINUTE_MS
/** Fixes that are closer tell nothing more. */
const APART_MS = 3_000

/**
 * Adds its newest fix to the way of a cart: those of the last two minutes and the one before them, oldest first. A fix that
 * is older than the last begins a new way: the last was the mistake of a clock.
 */
export function follow(way: CartFix[], fix: CartFix): void {
  const last = way.at(-1)
  if (last !== undefined && fix.atMs === last.atMs) return
  const before = way.at(-2)
  if (last !== undefined && fix.atMs < last.atMs) way.length = 0
  else if (last !== undefined && before !== undefined && last.atMs - before.atMs < APART_MS) way.pop()
  let from = 0
  while (from + 1 < way.length && (way[from + 1]?.atMs ?? 0) <= fix.atMs - WITHIN_MS) from++
  if (from > 0) way.splice(0, from)
  way.push(fix)
}

/**
 * Whether the newest fix shows that the cart was moved since `fromMs`. One that says that it stands is believed when the
 * fix before was as far: a receiver in a barn is wrong now and then.
 */
export function hasMoved(way: readonly CartFix[], fromMs: number, movingKmh: number): boolean {
  const fix = way.at(-1)
  const before = way.at(-2)
  if (fix === undefined || before === undefined) return false
  const stands = fix.speedKmh !== null && fix.speedKmh < movingKmh
  for (const start of way) {
    if (start === fix) return false
    if (start.atMs < fromMs || !isFar(start, fix)) continue
    if (!stands || (start !== before && isFar(start, before))) return true
  }
  return false
}

/** Over a longer time it is as far from each two minutes to the next at least once. */
function isFar(from: CartFix, to: CartFix): boolean {
  const leastM = MOVED_M * Math.max(1, Math.ceil((to.atMs - from.atMs) / WITHIN_MS))
  const mostM = (Math.abs(to.latE7 - from.latE7) + Math.abs(to.longE7 - from.longE7)) * BOUND_M_PER_E7
  // nearly always, and next to nothing
  if (mostM < leastM) return false
  return haversineM(from.latE7, from.longE7, to.latE7, to.longE7) >= leastM
}
