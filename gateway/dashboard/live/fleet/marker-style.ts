import type { CartJson } from '#shared/wire/carts.ts'

/** What a cart is drawn as, the first that holds: its shape says it without colour. */
export type MarkerStyle = 'outside' | 'silent' | 'low' | 'unlocked' | 'in' | 'out'

export interface MarkerOptions {
  /** Whether a cart in the barn that is known to be open is drawn as one: in the evening it is what matters. */
  marksUnlocked?: boolean
}

export function markerStyleOf(cart: CartJson, { marksUnlocked = true }: MarkerOptions = {}): MarkerStyle {
  if (cart.state === 'outside') return 'outside'
  if (cart.state === 'silent' || cart.state === 'unknown') return 'silent'
  if (cart.is_low) return 'low'
  if (cart.state !== 'in') return 'out'
  return marksUnlocked && cart.lock?.is_locked === false ? 'unlocked' : 'in'
}

/** In the barn, whatever else is the matter with it. */
export function isParked(cart: CartJson): boolean {
  return cart.zones.some(({ type }) => type === 'parking')
}

/** Locked by something else than its driver where carts are driven: somebody may sit in it who cannot drive on. */
export function isLockedOut(cart: CartJson): boolean {
  const { state, lock } = cart
  if (lock?.is_locked !== true || isParked(cart) || cart.out_of_service !== null) return false
  return (state === 'out' || state === 'outside') && !DRIVER_SOURCES.has(lock.source ?? '')
}

/** How a driver locks a cart, to play or to eat. */
const DRIVER_SOURCES: ReadonlySet<string> = new Set(['rfid', 'keypad', 'key'])

const collator = new Intl.Collator('en', { numeric: true })

/** 2 before 10. */
export function byNumber(a: CartJson, b: CartJson): number {
  return collator.compare(a.cart, b.cart)
}
