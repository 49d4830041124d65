import type { CartDevice, CartZoneContext, EvaluatedCart } from '#shared/carts/cart-state.ts'
import type { MeterReading } from '#shared/carts/service-due.ts'
import type { CartKind } from '#shared/site/settings.ts'
import { NO_CART_NOTES } from '#shared/wire/cart-json.ts'
import type { ServiceReason } from '#shared/wire/carts.ts'
import type { ZoneType } from '#shared/zones/zone.ts'
import type { Device } from './fleet.ts'

/** Author of a note on a cart, with the name at that time. */
export interface CartPerson {
  userId: string
  name: string
}

/** Staff notes on a cart. They belong to the cart's key, and are deleted with its last device. */
export interface CartNotes {
  outOfService: { sinceMs: number; why: string; reason: ServiceReason | null; by: CartPerson } | null
  /** Access to zones that are closed to other carts. */
  exempt: { zoneTypes: readonly ZoneType[]; untilMs: number; why: string; by: CartPerson } | null
  note: string | null
  kind: CartKind
  /** Null while the meter shows what was counted; stays when the last device is deleted. */
  meter: MeterSetting | null
}

/** Reading of the meter that an admin set, and what was counted then. */
export interface MeterSetting {
  set: MeterReading
  counted: MeterReading
}

export const NO_NOTES: CartNotes = { ...NO_CART_NOTES, meter: null }

/** Cart with the result of its last evaluation; replaced as a whole, never changed. */
export interface Cart {
  readonly key: string
  /** Sorted by hardware id; at least one. */
  readonly devices: readonly Device[]
  /** Reports of the devices, in the same order: a caller who sees only some of them gets a result from those alone. */
  readonly deviceReports: readonly CartDevice[]
  readonly zoneContext: CartZoneContext
  readonly verdict: EvaluatedCart
  readonly notes: CartNotes
  /** Counters that stay the same as long as the view of the cart, and the input of alert rules, are unchanged. */
  readonly revision: { readonly shown: number; readonly rules: number }
}
