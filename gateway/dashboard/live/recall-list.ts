import type { CartJson } from '#shared/wire/carts.ts'
import { byNumber, isParked } from './fleet/marker-style.ts'
import type { ActiveRecall, ScreenState } from './recall.ts'

/** Cart that is called in. */
export interface RecalledCart {
  cart: CartJson
  screen: ScreenState
}

/** Carts that are still out and carts that are in, with the number of screens that have confirmed. */
export interface RecallList {
  out: RecalledCart[]
  in: CartJson[]
  confirmed: number
  /** Number of carts with a screen. */
  screens: number
}

/** Order of the list: carts that staff must fetch come first. */
const RANK: Record<ScreenState, number> = { none: 0, offline: 1, sent: 2, confirmed: 3 }

/** Divides the carts by current position: in a parking zone means in, whatever else applies; unknown means out. */
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
