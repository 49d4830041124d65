import type { CartJson } from '#shared/wire/carts.ts'
import { byNumber } from './marker-style.ts'

export const CART_FILTERS = ['out', 'in', 'low', 'silent', 'outside', 'others'] as const
/** Filter of the counters on the map; it narrows the map and its list. */
export type CartFilter = (typeof CART_FILTERS)[number]

/**
 * True if a cart passes the filter; it can match several, such as a cart in the barn with a low battery. Vehicles other
 * than golf carts match `others` only, as the gateway counts them.
 */
export function matchesFilter(cart: CartJson, filter: CartFilter | null): boolean {
  if (filter === null) return true
  const isOther = cart.kind !== 'golf_cart'
  if (isOther || filter === 'others') return isOther && filter === 'others'
  if (filter === 'low') return cart.is_low
  // both are drawn alike, because their current position is unknown; a cart that was never seen has not lost its signal
  if (filter === 'silent') return cart.last_heard_at !== null && (cart.state === 'silent' || cart.state === 'unknown')
  return cart.state === filter
}

export function countCarts(carts: Iterable<CartJson>): Record<CartFilter, number> {
  const counts = { out: 0, in: 0, low: 0, silent: 0, outside: 0, others: 0 }
  for (const cart of carts) for (const filter of CART_FILTERS) if (matchesFilter(cart, filter)) counts[filter] += 1
  return counts
}

/** Finds carts by typed text: the exact number first, then numbers that begin with it, then names that contain it. */
export function searchCarts(carts: Iterable<CartJson>, text: string, limit = 8): CartJson[] {
  const wanted = text.trim().toLowerCase()
  if (wanted === '') return []
  const ranked = [...carts].flatMap((cart) => {
    const rank = rankOf(cart, wanted)
    return rank === null ? [] : [{ cart, rank }]
  })
  ranked.sort((a, b) => a.rank - b.rank || byNumber(a.cart, b.cart))
  return ranked.slice(0, limit).map(({ cart }) => cart)
}

/**
 * Returns the cart to open for text that was entered before the cart was known. In the `first` list of carts the best
 * match opens, as if it were entered now; later only the cart with exactly this number opens, because the user no
 * longer waits for a different one.
 */
export function searchAgain(carts: Iterable<CartJson>, text: string, isFirst: boolean): CartJson | undefined {
  const [best] = searchCarts(carts, text, 1)
  if (best === undefined) return undefined
  return isFirst || rankOf(best, text.trim().toLowerCase()) === 0 ? best : undefined
}

/** Returns the cart whose number was typed in full: no other number begins with the text. */
export function typedCart(carts: Iterable<CartJson>, text: string): CartJson | undefined {
  const wanted = text.trim().toLowerCase()
  const [cart, other] = searchCarts(carts, text, 2)
  const isOnly =
    cart !== undefined && rankOf(cart, wanted) === 0 && (other === undefined || (rankOf(other, wanted) ?? 3) > 1)
  return isOnly ? cart : undefined
}

function rankOf({ cart, devices, party }: CartJson, wanted: string): number | null {
  const number = cart.toLowerCase()
  if (number === wanted) return 0
  if (number.startsWith(wanted)) return 1
  if (number.includes(wanted)) return 2
  const names = [...devices.map(({ name }) => name), party?.driver, ...(party?.players ?? [])]
  return names.some((name) => name?.toLowerCase().includes(wanted)) ? 3 : null
}
