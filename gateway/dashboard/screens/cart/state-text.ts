import { cartStateKey } from '#dashboard/live/fleet/cart-state-key.ts'
import { fleetTexts } from '#dashboard/texts/fleet.ts'
import type { CartJson } from '#shared/wire/carts.ts'

/** Formats the state of a cart and its problems, such as "Driving · Low battery". */
export function stateText(cart: CartJson): string {
  const { states } = fleetTexts()
  const words = [cartStateKey({ ...cart, out_of_service: null, is_low: false })]
  if (cart.is_low) words.push('low')
  if (cart.out_of_service !== null) words.push('service')
  return words.map((word) => states[word]).join(' · ')
}
