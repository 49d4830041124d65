import type { CartJson } from '#shared/wire/carts.ts'
import type { UserJson } from '#shared/wire/users.ts'

const EVERY_CART = '*'
type Carts = ReadonlyMap<string, Pick<CartJson, 'devices'>>

/** Carts that a user may see: all, present and future, or those that were typed. */
export interface Scope {
  isAll: boolean
  /** Cart numbers and hardware ids, separated by commas. */
  typed: string
}

export function scopeOf({ allowed_hardware_ids: ids }: Pick<UserJson, 'allowed_hardware_ids'>): Scope {
  const isAll = ids?.[0] === EVERY_CART
  return { isAll, typed: isAll ? '' : (ids ?? []).join(', ') }
}

/** Converts the scope to hardware ids. A cart number stands for all its devices; other text is a hardware id. */
export function hardwareIdsIn({ isAll, typed }: Scope, carts: Carts): string[] {
  if (isAll) return [EVERY_CART]
  const words = typed
    .split(/[,;\n]/)
    .map((word) => word.trim())
    .filter((word) => word !== '')
  const ids = words.flatMap((word) => carts.get(word)?.devices.map(({ hardware_id }) => hardware_id) ?? [word])
  return [...new Set(ids)]
}
