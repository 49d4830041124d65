import type { CartKind } from '#shared/site/settings.ts'
import type { CartJson } from '#shared/wire/carts.ts'

/** Marker style of a cart; the first that applies. Its shape identifies it without colour. */
export type MarkerStyle = 'outside' | 'silent' | 'low' | 'unlocked' | 'in' | 'out'

/** Letters of the square badge on signs of vehicles other than golf carts. */
export const KIND_LETTERS: Record<CartKind, string> = {
  golf_cart: '',
  ranger: 'R',
  food_and_beverage: 'F',
  greenkeeping: 'G',
}

export interface MarkerOptions {
  /** True if unlocked carts in the barn are marked as such, which matters in the evening. */
  marksUnlocked?: boolean
}

export function markerStyleOf(cart: CartJson, { marksUnlocked = true }: MarkerOptions = {}): MarkerStyle {
  if (cart.state === 'outside') return 'outside'
  if (cart.state === 'silent' || cart.state === 'unknown') return 'silent'
  if (cart.is_low) return 'low'
  if (cart.state !== 'in') return 'out'
  return marksUnlocked && cart.lock?.is_locked === false ? 'unlocked' : 'in'
}

/** True if the cart is in the barn, whatever else applies to it. */
export function isParked(cart: CartJson): boolean {
  return cart.zones.some(({ type }) => type === 'parking')
}

/** True if a cart on the course was locked by anything except its driver: a golfer may be stranded in it. */
export function isLockedOut(cart: CartJson): boolean {
  const { state, lock } = cart
  if (lock?.is_locked !== true || isParked(cart) || cart.out_of_service !== null) return false
  return (state === 'out' || state === 'outside') && !DRIVER_SOURCES.has(lock.source ?? '')
}

/** Lock sources of drivers, who lock a cart to play or to eat. */
const DRIVER_SOURCES: ReadonlySet<string> = new Set(['rfid', 'keypad', 'key'])

const collator = new Intl.Collator('en', { numeric: true })

/** Compares numerically: 2 before 10. */
export function byNumber(a: CartJson, b: CartJson): number {
  return collator.compare(a.cart, b.cart)
}
