import type { CartJson } from '#shared/wire/carts.ts'
import { matchesFilter } from './cart-filter.ts'
import { byNumber, isParked } from './marker-style.ts'

export const FLEET_SORTS = ['matters', 'number', 'battery', 'heard'] as const
export type FleetSort = (typeof FLEET_SORTS)[number]

export const FLEET_FILTERS = ['all', 'in', 'out', 'low', 'silent', 'outside', 'open', 'out_of_service'] as const
export type FleetFilter = (typeof FLEET_FILTERS)[number]

const CHOSEN: Record<FleetFilter, (cart: CartJson) => boolean> = {
  all: () => true,
  // also those that are not heard there
  in: isParked,
  out: (cart) => matchesFilter(cart, 'out'),
  low: (cart) => matchesFilter(cart, 'low'),
  // also those that were never heard from
  silent: ({ state }) => state === 'silent' || state === 'unknown',
  outside: (cart) => matchesFilter(cart, 'outside'),
  open: isOpenInBarn,
  out_of_service: ({ out_of_service }) => out_of_service !== null,
}

/** Stands in the barn, in service, and has said that it is not locked. */
export function isOpenInBarn(cart: CartJson): boolean {
  return isParked(cart) && cart.lock?.is_locked === false && cart.out_of_service === null
}

/** The carts that a filter leaves, in an order that is the same for every device that asks. */
export function orderFleet(carts: Iterable<CartJson>, sort: FleetSort, filter: FleetFilter): CartJson[] {
  return [...carts].filter(CHOSEN[filter]).sort((a, b) => COMPARE[sort](a, b) || byNumber(a, b))
}

const COMPARE: Record<FleetSort, (a: CartJson, b: CartJson) => number> = {
  matters: (a, b) => urgencyOf(a) - urgencyOf(b),
  number: byNumber,
  battery: (a, b) => chargeOf(a) - chargeOf(b),
  heard: (a, b) => text(a.last_heard_at).localeCompare(text(b.last_heard_at)),
}

/** Small comes first. */
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

/** Percent where the pack is known, else volts; what has said nothing comes last. */
function chargeOf({ battery }: CartJson): number {
  return battery === null ? Number.MAX_VALUE : (battery.percent ?? battery.rest_voltage ?? battery.voltage)
}

// ISO 8601 of one length: as texts they are in the order of time
function text(at: string | null): string {
  return at ?? ''
}
