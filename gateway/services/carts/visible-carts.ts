import { type Caller, canSee } from '#domain/access.ts'
import { ForbiddenError, NotFoundError } from '#shared/errors.ts'
import type { ShownCart } from '#shared/wire/cart-json.ts'
import type { Cart } from '../cart.ts'
import type { Carts } from './carts.ts'

/** What other parts know of a cart and people are shown with it. */
export interface CartExtras {
  /** When it will be locked by itself; null when it will not. */
  autoLockAtMs(cart: Cart): number | null
  /** Its alerts that are not closed. */
  openAlertIdsOf(key: string): readonly string[]
}

/** Carts as a caller may see them: of a cart that is partly in scope, what the devices in scope say. */
export class VisibleCarts {
  readonly #carts: Carts
  readonly #extras: CartExtras

  constructor(carts: Carts, extras: CartExtras) {
    this.#carts = carts
    this.#extras = extras
  }

  /** In natural order, as they are now. */
  all(caller: Caller): Cart[] {
    return this.#carts.allNow().flatMap((cart) => this.seenBy(cart, caller) ?? [])
  }

  seenBy(cart: Cart, caller: Caller): Cart | null {
    return this.#carts.seenBy(cart, (hardwareId) => canSee(caller, hardwareId))
  }

  /**
   * Finds a cart by its key, or by the hardware id of a device in it, as it is now. Throws `cart_not_found`, or
   * `cart_forbidden` when no device of it is in scope.
   */
  require(caller: Caller, id: string): Cart {
    const cart = this.#carts.find(id) ?? this.#carts.of(id)
    if (cart === undefined) throw new NotFoundError('cart_not_found', `there is no cart ${id}`)
    const seen = this.seenBy(this.#carts.evaluateNow(cart), caller)
    if (seen === null) throw new ForbiddenError('cart_forbidden', `cart ${id} is outside your scope`)
    return seen
  }

  /** What of it other parts know. */
  extrasOf(cart: Cart): Pick<ShownCart, 'autoLockAtMs' | 'openAlertIds'> {
    return {
      autoLockAtMs: this.#extras.autoLockAtMs(cart),
      openAlertIds: this.#extras.openAlertIdsOf(cart.key),
    }
  }

  /** The cart with all that is shown of it. */
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
