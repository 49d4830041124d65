import { type Caller, canSee, canSeeCodes } from '#domain/access.ts'
import type { GatewayEvents } from '#gateway/events.ts'
import type { Cart } from '#services/cart.ts'
import type { VisibleCarts } from '#services/carts/visible-carts.ts'
import { toIso } from '#shared/time.ts'
import { toCartJson } from '#shared/wire/cart-json.ts'
import type { CartJson } from '#shared/wire/carts.ts'
import type { RealtimeConnection } from './connection.ts'
import type { FrameBuilder } from './fan-out.ts'
import { Frame } from './frames.ts'

/** What is told of a cart: one frame for all who see the same of it. */
export function cartMessage(
  { cart, leftIds }: GatewayEvents['cartChanged'],
  carts: VisibleCarts,
  nowMs: number,
): FrameBuilder {
  const ids = cart.devices.map(({ row }) => row.hardwareId)
  const frames = new Map<string, Frame | null>()
  const timestamp = toIso(nowMs)
  const tellRemoved = cartRemovedMessage({ key: cart.key, hardwareIds: leftIds })
  return (connection) => {
    const { caller } = connection
    // also to who watched a device that has left it
    if (!watchesAny(connection, [...ids, ...leftIds])) return null
    if (!ids.some((id) => canSee(caller, id))) return tellRemoved(connection)
    const isMasked = !canSeeCodes(caller)
    const kind = `${ids.map((id) => Number(canSee(caller, id))).join('')}${isMasked ? '*' : ''}`
    const known = frames.get(kind)
    if (known !== undefined) return known
    const seen = carts.seenBy(cart, caller)
    const json = seen && toCartJson(carts.shown(seen), isMasked)
    const frame = json && new Frame({ type: 'cart', cart: json, timestamp })
    frames.set(kind, frame)
    return frame
  }
}

/** What is told of a cart that is gone, to those who watched a device of it. */
export function cartRemovedMessage({ key, hardwareIds }: GatewayEvents['cartRemoved']): FrameBuilder {
  let frame: Frame | undefined
  return (connection) => {
    if (!watchesAny(connection, hardwareIds)) return null
    frame ??= new Frame({ type: 'cart_removed', cart: key })
    return frame
  }
}

/** The carts of these devices, as the caller sees them. */
export function cartsOf(carts: VisibleCarts, hardwareIds: ReadonlySet<string> | 'all', caller: Caller): CartJson[] {
  const isWanted = ({ devices }: Cart) =>
    hardwareIds === 'all' || devices.some(({ row }) => hardwareIds.has(row.hardwareId))
  return carts
    .all(caller)
    .filter(isWanted)
    .map((cart) => toCartJson(carts.shown(cart), !canSeeCodes(caller)))
}

function watchesAny({ caller, watched, watchesAll }: RealtimeConnection, ids: readonly string[]): boolean {
  return ids.some((id) => (watchesAll || watched.has(id)) && canSee(caller, id))
}
