import type { CartJson } from '#shared/wire/carts.ts'
import type { UserJson } from '#shared/wire/users.ts'

const EVERY_CART = '*'
type Carts = ReadonlyMap<string, Pick<CartJson, 'devices'>>

/** Which carts somebody may see: all, now and later, or those that were typed. */
export interface Scope {
  isAll: boolean
  /** Numbers of carts and hardware ids, with commas. */
  typed: string
}

export function scopeOf({ allowed_hardware_ids: ids }: Pick<UserJson, 'allowed_hardware_ids'>): Scope {
  const isAll = ids?.[0] === EVERY_CART
  return { isAll, typed: isAll ? '' : (ids ?? []).join(', ') }
}

/** As the gateway takes it. The number of a cart is all its devices; anything else is taken for a hardware id. */
export function hardwareIdsIn({ isAll, typed }: Scope, carts: Carts): string[] {
  if (isAll) return [EVERY_CART]
  const words = typed
    .split(/[,;\n]/)
    .map((word) => word.trim())
    .filter((word) => word !== '')
  const ids = words.flatMap((word) => carts.get(word)?.devices.map(({ hardware_id }) => hardware_id) ?? [word])
  return [...new Set(ids)]
}
