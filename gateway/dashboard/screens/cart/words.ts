import { stateWordOf } from '#dashboard/live/fleet/cart-words.ts'
import { fleetTexts } from '#dashboard/texts/fleet.ts'
import type { CartJson } from '#shared/wire/carts.ts'

/** "Driving · Low battery": what a cart is doing, and what is the matter with it besides. */
export function stateInWords(cart: CartJson): string {
  const { states } = fleetTexts()
  const words = [stateWordOf({ ...cart, out_of_service: null, is_low: false })]
  if (cart.is_low) words.push('low')
  if (cart.out_of_service !== null) words.push('service')
  return words.map((word) => states[word]).join(' · ')
}
