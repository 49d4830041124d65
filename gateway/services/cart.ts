import type { CartDevice, CartZoneContext, EvaluatedCart } from '#shared/carts/cart-state.ts'
import type { ZoneType } from '#shared/zones/zone.ts'
import type { Device } from './fleet.ts'

/** Who said something of a cart; the name is what it was then. */
export interface CartPerson {
  userId: string
  name: string
}

/** What people said of a cart. It belongs to the cart's key and goes with its last device. */
export interface CartNotes {
  outOfService: { sinceMs: number; why: string; by: CartPerson } | null
  /** It may drive where others may not. */
  exempt: { zoneTypes: readonly ZoneType[]; untilMs: number; why: string; by: CartPerson } | null
  note: string | null
}

/** A cart as it was judged last; replaced as a whole, never changed. */
export interface Cart {
  readonly key: string
  /** By hardware id; at least one. */
  readonly devices: readonly Device[]
  /** What each of them says, in the same order: a caller who sees some of them gets the verdict of those. */
  readonly said: readonly CartDevice[]
  readonly ground: CartZoneContext
  readonly verdict: EvaluatedCart
  readonly notes: CartNotes
  /** Numbers that stay as long as what people see of the cart, and what the rules of alerts go by, is the same. */
  readonly revision: { readonly shown: number; readonly rules: number }
}
