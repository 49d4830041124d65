import type { CartJson } from '#shared/wire/carts.ts'
import { matchesFilter } from './cart-filter.ts'
import { byNumber, isParked } from './marker-style.ts'

export const FLEET_FILTERS = [
  'all',
  'in',
  'out',
  'low',
  'silent',
  'outside',
  'open',
  'out_of_service',
  'others',
] as const
export type FleetFilter = (typeof FLEET_FILTERS)[number]

const CHOSEN: Record<FleetFilter, (cart: CartJson) => boolean> = {
  all: () => true,
  // includes carts without a signal there
  in: isParked,
  out: (cart) => matchesFilter(cart, 'out'),
  low: (cart) => matchesFilter(cart, 'low'),
  // includes carts that were never seen
  silent: ({ state }) => state === 'silent' || state === 'unknown',
  outside: (cart) => matchesFilter(cart, 'outside'),
  open: isOpenInBarn,
  out_of_service: ({ out_of_service }) => out_of_service !== null,
  others: () => true,
}

/** True if the cart is in the barn, in service, and has reported that it is unlocked. */
export function isOpenInBarn(cart: CartJson): boolean {
  return isParked(cart) && cart.lock?.is_locked === false && cart.out_of_service === null
}

/**
 * Returns the carts that pass a filter, the most urgent first, in an order that is the same on every tablet. Vehicles
 * other than golf carts pass only their own filter, as in the counters.
 */
export function orderFleet(carts: Iterable<CartJson>, filter: FleetFilter): CartJson[] {
  const isShown = (cart: CartJson) =>
    filter === 'all' || ((cart.kind === 'golf_cart') === (filter !== 'others') && CHOSEN[filter](cart))
  return [...carts].filter(isShown).sort((a, b) => urgencyOf(a) - urgencyOf(b) || byNumber(a, b))
}

/** Orders of the columns: the weakest battery, the unlocked carts and the longest silence come first. */
export const FLEET_COMPARE = {
  cart: byNumber,
  battery: (a, b) => chargeOf(a) - chargeOf(b),
  lock: (a, b) => lockOf(a) - lockOf(b),
  heard: (a, b) => (a.last_heard_at ?? '').localeCompare(b.last_heard_at ?? ''),
} satisfies Record<string, (a: CartJson, b: CartJson) => number>

/** Smaller values come first. */
function urgencyOf(cart: CartJson): number {
  if (cart.out_of_service !== null) return 7
  if (cart.state === 'outside') return 0
  if (cart.is_low && !isParked(cart)) return 1
  if (cart.state === 'silent') return 2
  if (cart.is_low) return 3
  if (cart.state === 'unknown') return 4
  if (cart.state !== 'in') return cart.is_moving ? 5 : 6
  return isOpenInBarn(cart) ? 4.5 : 6.5
}

/** Percent if the battery is known, else volts; carts without a report come last. */
function chargeOf({ battery }: CartJson): number {
  return battery === null ? Number.MAX_VALUE : (battery.percent ?? battery.rest_voltage ?? battery.voltage)
}

/** Carts without a lock come last. */
function lockOf({ lock }: CartJson): number {
  return lock === null ? 2 : Number(lock.is_locked)
}
