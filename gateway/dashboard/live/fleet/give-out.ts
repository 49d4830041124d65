import type { CartJson } from '#shared/wire/carts.ts'
import { byNumber, isParked } from './marker-style.ts'

/** Kilometres of the last seven days by cart; a missing cart is not known yet. */
export type Usage = ReadonlyMap<string, number>

/**
 * True if a golfer can get the cart: in the barn, not given out, with a signal, in service, battery not low, no open
 * alert.
 */
export function isFit(cart: CartJson): boolean {
  return (
    cart.kind === 'golf_cart' &&
    isParked(cart) &&
    (cart.state === 'in' || cart.is_asleep) &&
    !cart.is_low &&
    cart.out_of_service === null &&
    cart.party === null &&
    cart.kind === 'golf_cart' &&
    cart.open_alerts.length === 0
  )
}

/** Returns the carts to hand out next: least used this week first, then fullest, then by number. */
export function orderGiveOut(carts: Iterable<CartJson>, usage: Usage): CartJson[] {
  return [...carts]
    .filter(isFit)
    .sort((a, b) => (usage.get(a.cart) ?? 0) - (usage.get(b.cart) ?? 0) || chargeOf(b) - chargeOf(a) || byNumber(a, b))
}

function chargeOf({ battery }: CartJson): number {
  return battery?.percent ?? battery?.rest_voltage ?? 0
}
