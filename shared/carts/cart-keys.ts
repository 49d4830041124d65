export interface CartAssignment {
  hardwareId: string
  /** Cart that the device is assigned to; null for none. */
  cart: string | null
  name: string | null
}

/**
 * Groups devices by cart key, in natural order (2 before 10). Devices with the same `cart` form one cart. A device
 * without one is a cart under its own name, or under its hardware id if it has no name or the name is taken.
 */
export function groupByCart<Device extends CartAssignment>(devices: readonly Device[]): Map<string, Device[]> {
  const carts = new Map<string, Device[]>()
  const byId = (a: CartAssignment, b: CartAssignment) => (a.hardwareId < b.hardwareId ? -1 : 1)
  const ordered = [...devices].sort(byId)
  for (const device of ordered) {
    if (device.cart === null) continue
    const others = carts.get(device.cart)
    if (others === undefined) carts.set(device.cart, [device])
    else others.push(device)
  }
  for (const device of ordered) {
    if (device.cart !== null) continue
    const name = device.name ?? device.hardwareId
    carts.set(carts.has(name) ? freeKey(carts, device.hardwareId) : name, [device])
  }
  return new Map([...carts].sort(([a], [b]) => compareNatural(a, b)))
}

/** Avoids a clash with a cart whose number is the hardware id of another device. */
function freeKey(carts: ReadonlyMap<string, unknown>, hardwareId: string): string {
  let key = hardwareId
  while (carts.has(key)) key += '*'
  return key
}

/** Compares runs of digits by value, everything else by code unit. */
export function compareNatural(a: string, b: string): number {
  const [as, bs] = [a.match(PIECES) ?? [], b.match(PIECES) ?? []]
  for (let i = 0; i < Math.min(as.length, bs.length); i++) {
    const [x = '', y = ''] = [as[i], bs[i]]
    const difference = DIGITS.test(x) && DIGITS.test(y) ? compareDigits(x, y) : x < y ? -1 : x > y ? 1 : 0
    if (difference !== 0) return difference
  }
  return as.length - bs.length || (a < b ? -1 : a > b ? 1 : 0)
}

const PIECES = /\d+|\D+/g
const DIGITS = /^\d/

function compareDigits(a: string, b: string): number {
  const [x, y] = [a.replace(/^0+(?=\d)/, ''), b.replace(/^0+(?=\d)/, '')]
  return x.length - y.length || (x < y ? -1 : x > y ? 1 : 0)
}
