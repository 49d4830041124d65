import type { CartJson } from '#shared/wire/carts.ts'

/** Returns the driver of a cart that is given out, else the first player; null if neither is known. */
export function partyNameOf({ party }: Pick<CartJson, 'party'>): string | null {
  return party?.driver ?? party?.players[0] ?? null
}

/** Number of a cart with the name of who has it. */
export function cartWithName(cart: Pick<CartJson, 'cart' | 'party'>): string {
  const name = partyNameOf(cart)
  return name === null ? cart.cart : `${cart.cart} (${name})`
}
