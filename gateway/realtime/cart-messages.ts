import { type Caller, canSee, canSeeCodes, isStaff } from '#domain/access.ts'
import type { GatewayEvents } from '#gateway/events.ts'
import type { Cart } from '#services/cart.ts'
import type { VisibleCarts } from '#services/carts/visible-carts.ts'
import { toIso } from '#shared/time.ts'
import { toCartJson } from '#shared/wire/cart-json.ts'
import type { CartJson } from '#shared/wire/carts.ts'
import type { RealtimeConnection } from './connection.ts'
import type { FrameBuilder } from './fan-out.ts'
import { Frame } from './frames.ts'

/** Builds the message about a changed cart: one frame for all connections that see the same. */
export function cartMessage(
  { cart, leftIds }: GatewayEvents['cartChanged'],
  carts: VisibleCarts,
  nowMs: number,
): FrameBuilder {
  const ids = cart.devices.map(({ row }) => row.hardwareId)
  const frames = new Map<string, Frame | null>()
  const timestamp = toIso(nowMs)
  const removedMessage = cartRemovedMessage({ key: cart.key, hardwareIds: leftIds })
  return (connection) => {
    const { caller } = connection
    // also for connections that watched a device which has left the cart
    if (!watchesAny(connection, [...ids, ...leftIds])) return null
    if (!ids.some((id) => canSee(caller, id))) return removedMessage(connection)
    const isMasked = !canSeeCodes(caller)
    const seesNames = isStaff(caller)
    const kind = [...ids.map((id) => canSee(caller, id)), isMasked, seesNames].map(Number).join('')
    const known = frames.get(kind)
    if (known !== undefined) return known
    const seen = carts.seenBy(cart, caller)
    const json = seen && toCartJson(carts.shown(seen), isMasked, seesNames)
    const frame = json && new Frame({ type: 'cart', cart: json, timestamp })
    frames.set(kind, frame)
    return frame
  }
}

/** Builds the message about a removed cart for connections that watched one of its devices. */
export function cartRemovedMessage({ key, hardwareIds }: GatewayEvents['cartRemoved']): FrameBuilder {
  let frame: Frame | undefined
  return (connection) => {
    if (!watchesAny(connection, hardwareIds)) return null
    frame ??= new Frame({ type: 'cart_removed', cart: key })
    return frame
  }
}

/** Returns the carts of these devices, as visible to the caller. */
export function cartsOf(carts: VisibleCarts, hardwareIds: ReadonlySet<string> | 'all', caller: Caller): CartJson[] {
  const isWanted = ({ devices }: Cart) =>
    hardwareIds === 'all' || devices.some(({ row }) => hardwareIds.has(row.hardwareId))
  return carts
    .all(caller)
    .filter(isWanted)
    .map((cart) => toCartJson(carts.shown(cart), !canSeeCodes(caller), isStaff(caller)))
}

function watchesAny({ caller, watched, watchesAll }: RealtimeConnection, ids: readonly string[]): boolean {
  return ids.some((id) => (watchesAll || watched.has(id)) && canSee(caller, id))
}
