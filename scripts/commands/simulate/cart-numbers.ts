import type { PlannedDevice } from './fleet-plan.ts'

/** Device of the gateway, with the fields that decide which numbers are free. */
export interface KnownDevice {
  readonly hardware_id: string
  readonly name?: string | null | undefined
  readonly cart: string | null
}

const LONGEST = 16

/**
 * Returns the cart of each planned device. Numbers used by devices that are not planned, and carts already assigned to
 * planned devices, are left unchanged; `prefix` turns a used number into another name. Null if that is taken too.
 */
export function chooseCarts(
  planned: readonly PlannedDevice[],
  known: readonly KnownDevice[],
  prefix: string,
): Map<string, string | null> {
  const own = new Set(planned.map(({ hardwareId }) => hardwareId))
  const others = known.filter((device) => !own.has(device.hardware_id))
  const taken = new Set(others.flatMap(({ hardware_id, name, cart }) => [hardware_id, name, cart]))
  const given = new Map(known.map(({ hardware_id, cart }) => [hardware_id, cart]))
  return new Map(
    planned.map(({ hardwareId, cart }) => {
      const names = [cart, `${prefix.slice(0, LONGEST - 1 - cart.length)} ${cart}`]
      const free = names.find((name) => !taken.has(name)) ?? null
      return [hardwareId, given.get(hardwareId) ?? free]
    }),
  )
}
