import type { Cart } from '#services/cart.ts'
import type { VisibleCarts } from '#services/carts/visible-carts.ts'
import { countCarts, toCartJson } from '#shared/wire/cart-json.ts'

interface Remembered {
  autoLockAtMs: number | null
  alerts: string
  text: string
}

/** Lists of carts as JSON; the text of a cart is written again only once something about it has changed. */
export class CartListTexts {
  readonly #carts: VisibleCarts
  readonly #plain = new WeakMap<Cart, Remembered>()
  readonly #masked = new WeakMap<Cart, Remembered>()

  constructor(carts: VisibleCarts) {
    this.#carts = carts
  }

  of(carts: readonly Cart[], masksCodes: boolean): string {
    const texts = carts.map((cart) => this.#textOf(cart, masksCodes))
    const hasParkingZone = carts.some(({ ground }) => ground.hasParking)
    const counts = JSON.stringify(countCarts(carts))
    return `{"carts":[${texts.join(',')}],"counts":${counts},"has_parking_zone":${hasParkingZone}}`
  }

  #textOf(cart: Cart, masksCodes: boolean): string {
    const remembered = masksCodes ? this.#masked : this.#plain
    const { autoLockAtMs, openAlertIds } = this.#carts.extrasOf(cart)
    const alerts = openAlertIds.join(' ')
    const known = remembered.get(cart)
    if (known?.autoLockAtMs === autoLockAtMs && known.alerts === alerts) return known.text
    const text = JSON.stringify(toCartJson(this.#carts.shown(cart), masksCodes))
    remembered.set(cart, { autoLockAtMs, alerts, text })
    return text
  }
}
