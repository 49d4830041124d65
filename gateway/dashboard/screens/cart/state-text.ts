import { cartStateKey } from '#dashboard/live/fleet/cart-state-key.ts'
import { fleetTexts } from '#dashboard/texts/fleet.ts'
import type { CartJson } from '#shared/wire/carts.ts'

/** Formats the kind of a vehicle, its state and its problems, such as "Driving · Low battery". */
export function stateText(cart: CartJson): string {
  const { states, kinds } = fleetTexts()
  const words = [cartStateKey({ ...cart, out_of_service: null, is_low: false })]
  if (cart.is_low) words.push('low')
  if (cart.out_of_service !== null) words.push('service')
  const kind = cart.kind === 'golf_cart' ? [] : [kinds[cart.kind]]
  return [...kind, ...words.map((word) => states[word])].join(' · ')
}
