import type { CartJson } from '#shared/wire/carts.ts'
import { byNumber, isParked } from './marker-style.ts'

/** Kilometres of the last seven days by cart; a cart that is not in it is not known yet. */
export type Usage = ReadonlyMap<string, number>

/** Fit to be given to a golfer: in the barn, heard, in service, not low, not being called an open alert. */
export function isFit(cart: CartJson): boolean {
  return (
    isParked(cart) &&
    (cart.state === 'in' || cart.is_asleep) &&
    !cart.is_low &&
    cart.out_of_service === null &&
    cart.open_alerts.length === 0
  )
}

/** The carts to give out first: least used this week, then the fullest, then by number. */
export function orderGiveOut(carts: Iterable<CartJson>, usage: Usage): CartJson[] {
  return [...carts]
    .filter(isFit)
    .sort((a, b) => (usage.get(a.cart) ?? 0) - (usage.get(b.cart) ?? 0) || chargeOf(b) - chargeOf(a) || byNumber(a, b))
}

function chargeOf({ battery }: CartJson): number {
  return battery?.percent ?? battery?.rest_voltage ?? 0
}
