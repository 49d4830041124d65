import type { Cart } from '../cart.ts'
import type { CartPosition } from './notification.ts'

const DEGREE = 1e-7

/** Returns the current position of a cart for messages; undefined without a cart. */
export function placeOfCart(cart: Cart | undefined): CartPosition | undefined {
  if (cart === undefined) return undefined
  const { stays, position } = cart.verdict
  return {
    // the whole course lies within its boundary
    zones: stays.filter(({ type }) => type !== 'boundary').map(({ name }) => name),
    position: position === null ? null : { lat: position.fix.latE7 * DEGREE, long: position.fix.longE7 * DEGREE },
  }
}
