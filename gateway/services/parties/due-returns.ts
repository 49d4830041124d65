import { type Calendar, closingMs } from '#shared/site/opening-hours.ts'
import type { TimeZone } from '#shared/site/time-zone.ts'
import { HOUR_MS, MINUTE_MS } from '#shared/time.ts'
import type { HandedOut } from '#shared/wire/parties/parties.ts'
import { AUTO_LOCK } from '#store/tables/commands.ts'
import type { Cart } from '../cart.ts'

interface Circumstances {
  calendar: Calendar
  timeZone: TimeZone
  returnAfterMin: number
  nowMs: number
}

/** Time after midnight at which carts of the day before count as returned, without opening hours. */
const WITHOUT_HOURS_MS = 12 * HOUR_MS

/** Returns the reason for which a cart counts as returned now; null for none. `cart` is undefined once removed. */
export function dueReturnOf(
  handedOut: HandedOut,
  cart: Cart | undefined,
  circumstances: Circumstances,
): 'parked' | 'closing' | null {
  if (isAfterClosing(handedOut, cart, circumstances)) return 'closing'
  return cart !== undefined && isParked(handedOut, cart, circumstances) ? 'parked' : null
}

/** True if the course has closed since, and the cart is in, or the next day has begun. */
function isAfterClosing(
  { given_at }: HandedOut,
  cart: Cart | undefined,
  { calendar, timeZone, nowMs }: Circumstances,
): boolean {
  const closedMs = closingMs(calendar, timeZone, Date.parse(given_at))
  if (nowMs < closedMs) return false
  const endMs = calendar.nextOpening(closedMs)?.opensMs ?? closedMs + WITHOUT_HOURS_MS
  return cart?.verdict.isInParking === true || nowMs >= endMs
}

/** True if the cart was unlocked or elsewhere since, and has been locked in a parking zone for long enough. */
function isParked({ given_at }: HandedOut, { verdict }: Cart, { returnAfterMin, nowMs }: Circumstances): boolean {
  const givenAtMs = Date.parse(given_at)
  const { lock, stays, isInParking, stillSinceMs } = verdict
  if (!isInParking || lock?.isLocked !== true) return false
  const parkedMs = Math.min(...stays.filter(({ type }) => type === 'parking').map(({ sinceMs }) => sinceMs))
  const hasMoved = parkedMs > givenAtMs || (stillSinceMs ?? 0) > givenAtMs
  // a cart that waits for its players must not be taken back because auto-lock has locked it
  const isUsed = hasMoved || (lock.atMs > givenAtMs && lock.by !== AUTO_LOCK)
  return isUsed && nowMs - Math.max(parkedMs, lock.atMs, givenAtMs) >= returnAfterMin * MINUTE_MS
}
