import type { CartJson } from '#shared/wire/carts.ts'
import { isOpenInBarn } from './fleet-order.ts'

/** Short description of a cart's state: a key of the texts. */
export type StateWord =
  | ('outside' | 'silent' | 'unknown' | 'low' | 'moving' | 'out' | 'in')
  | ('open' | 'service' | 'asleep')

/** Minimum speed that is not rounded to 0, in km/h and in miles. */
const DRIVING_KMH = 1

export function cartStateKey(cart: CartJson): StateWord {
  if (cart.out_of_service !== null) return 'service'
  if (cart.state === 'outside' || cart.state === 'silent' || cart.state === 'unknown') return cart.state
  if (cart.is_low) return 'low'
  // it moved a moment ago, and its last position reports a speed that is shown as 0
  if (cart.is_moving && (cart.position?.speed ?? DRIVING_KMH) >= DRIVING_KMH) return 'moving'
  if (isOpenInBarn(cart)) return 'open'
  return cart.is_asleep ? 'asleep' : cart.state
}
