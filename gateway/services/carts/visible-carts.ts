import { type Caller, canSee, visibleHardwareIds } from '#domain/access.ts'
import { ForbiddenError, NotFoundError } from '#shared/errors.ts'
import type { ShownCart } from '#shared/wire/cart-json.ts'
import type { CartParty } from '#shared/wire/parties/party-json.ts'
import type { Cart } from '../cart.ts'
import type { Carts } from './carts.ts'

/** Data of other components that is shown with a cart. */
export interface CartExtras {
  /** Returns the time of the next automatic lock; null for none. */
  autoLockAtMs(cart: Cart): number | null
  openAlertIdsOf(key: string): readonly string[]
  /** Returns the party that the cart is given out to; the same object while nothing changes. */
  partyOf(key: string): CartParty | null
}

/** True if the caller sees a device of the cart; a removed cart is seen only by callers without limits. */
export function seesCart(carts: Pick<Carts, 'find'>, caller: Caller, key: string): boolean {
  const devices = carts.find(key)?.devices
  if (devices === undefined) return visibleHardwareIds(caller) === undefined
  return devices.some(({ row }) => canSee(caller, row.hardwareId))
}

/** Carts as a caller may see them: a cart partly in scope is evaluated from its devices in scope. */
export class VisibleCarts {
  readonly #carts: Carts
  readonly #extras: CartExtras

  constructor(carts: Carts, extras: CartExtras) {
    this.#carts = carts
    this.#extras = extras
  }

  /** Evaluates and returns the caller's carts in natural order. */
  all(caller: Caller): Cart[] {
    return this.#carts.allNow().flatMap((cart) => this.seenBy(cart, caller) ?? [])
  }

  seenBy(cart: Cart, caller: Caller): Cart | null {
    return this.#carts.seenBy(cart, (hardwareId) => canSee(caller, hardwareId))
  }

  /** Evaluates a cart, by its key or a device's hardware id. Throws `cart_not_found`, `cart_forbidden` out of scope. */
  require(caller: Caller, id: string): Cart {
    const cart = this.#carts.find(id) ?? this.#carts.of(id)
    if (cart === undefined) throw new NotFoundError('cart_not_found', `there is no cart ${id}`)
    const seen = this.seenBy(this.#carts.evaluateNow(cart), caller)
    if (seen === null) throw new ForbiddenError('cart_forbidden', `cart ${id} is outside your scope`)
    return seen
  }

  extrasOf(cart: Cart): Pick<ShownCart, 'autoLockAtMs' | 'openAlertIds' | 'party'> {
    return {
      autoLockAtMs: this.#extras.autoLockAtMs(cart),
      openAlertIds: this.#extras.openAlertIdsOf(cart.key),
      party: this.#extras.partyOf(cart.key),
    }
  }

  shown(cart: Cart): ShownCart {
    return {
      ...this.extrasOf(cart),
      key: cart.key,
      verdict: cart.verdict,
      notes: cart.notes,
      devices: cart.devices.map(({ row, isOnline }) => ({
        hardwareId: row.hardwareId,
        deviceType: row.deviceType,
        name: row.name,
        isOnline,
      })),
    }
  }
}
