import type { CartJson } from '#shared/wire/carts.ts'
import { byNumber } from './marker-style.ts'

export const CART_FILTERS = ['out', 'in', 'low', 'silent', 'outside'] as const
/** What the counters of the map count, and narrow the map and its list to. */
export type CartFilter = (typeof CART_FILTERS)[number]

/** A cart can be of several, as one that is low in the barn. */
export function matchesFilter(cart: CartJson, filter: CartFilter | null): boolean {
  if (filter === null) return true
  if (filter === 'low') return cart.is_low
  // the sign of both is the same: it is not known where they are now; one that was never heard from has not fallen
  // silent
  if (filter === 'silent') return cart.last_heard_at !== null && (cart.state === 'silent' || cart.state === 'unknown')
  return cart.state === filter
}

export function countCarts(carts: Iterable<CartJson>): Record<CartFilter, number> {
  const counts = { out: 0, in: 0, low: 0, silent: 0, outside: 0 }
  for (const cart of carts) for (const filter of CART_FILTERS) if (matchesFilter(cart, filter)) counts[filter] += 1
  return counts
}

/** Carts by what somebody typed: the number itself, then what begins with it, then where it is inside a name. */
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
 * The cart that opens for what somebody entered before it was there. In the `first` list of carts the best one does, as
 * if it were entered now; of what comes later only the cart of this very number, because nobody waits for another.
 */
export function searchAgain(carts: Iterable<CartJson>, text: string, isFirst: boolean): CartJson | undefined {
  const [best] = searchCarts(carts, text, 1)
  if (best === undefined) return undefined
  return isFirst || rankOf(best, text.trim().toLowerCase()) === 0 ? best : undefined
}

function rankOf({ cart, devices }: CartJson, wanted: string): number | null {
  const number = cart.toLowerCase()
  if (number === wanted) return 0
  if (number.startsWith(wanted)) return 1
  if (number.includes(wanted)) return 2
  return devices.some(({ name }) => name?.toLowerCase().includes(wanted)) ? 3 : null
}
