import type { CartParty } from '#shared/wire/parties/party-json.ts'
import type { Cart } from '../cart.ts'
import type { CartPosition } from './notification.ts'

const DEGREE = 1e-7

/** Returns the current position of a cart for messages; undefined without a cart. */
export function placeOfCart(cart: Cart | undefined, given: CartParty | null): CartPosition | undefined {
  if (cart === undefined) return undefined
  const { stays, position } = cart.verdict
  return {
    // the whole course lies within its boundary
    zones: stays.filter(({ type }) => type !== 'boundary').map(({ name }) => name),
    player: given === null ? null : (given.handedOut.driver ?? given.party.players[0] ?? null),
    position: position === null ? null : { lat: position.fix.latE7 * DEGREE, long: position.fix.longE7 * DEGREE },
  }
}
