import type { CartJson } from '#shared/wire/carts.ts'
import { byNumber, isParked } from './fleet/marker-style.ts'
import type { ActiveRecall, ScreenState } from './recall.ts'

/** A cart that is called in. */
export interface RecalledCart {
  cart: CartJson
  screen: ScreenState
}

/** Who is still out and who is in, and how many screens have confirmed. */
export interface RecallList {
  out: RecalledCart[]
  in: CartJson[]
  confirmed: number
  /** Carts with a screen. */
  screens: number
}

/** Whom somebody must fetch comes first. */
const RANK: Record<ScreenState, number> = { none: 0, offline: 1, sent: 2, confirmed: 3 }

/**
 * By where the carts are now: in a parking zone is in, whatever else. Carts of which nobody knows where they are count
 * as out.
 */
export function recallList({ screens }: ActiveRecall, carts: ReadonlyMap<string, CartJson>): RecallList {
  const list: RecallList = { out: [], in: [], confirmed: 0, screens: 0 }
  for (const [name, screen] of screens) {
    if (screen !== 'none') list.screens++
    if (screen === 'confirmed') list.confirmed++
    const cart = carts.get(name)
    if (cart === undefined) continue
    if (isParked(cart)) list.in.push(cart)
    else if (cart.out_of_service === null) list.out.push({ cart, screen })
  }
  list.out.sort((a, b) => RANK[a.screen] - RANK[b.screen] || byNumber(a.cart, b.cart))
  list.in.sort(byNumber)
  return list
}
