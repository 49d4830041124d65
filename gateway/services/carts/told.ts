import type { Cart } from '../cart.ts'

/**
 * Whether people would be told the same of a cart: its state, zones, lock, battery, devices and notes. That it is elsewhere
 * in the same zones is no news.
 */
export function isToldSame(known: Cart, cart: Cart): boolean {
  const [before, now] = [known.verdict, cart.verdict]
  return (
    before.state === now.state &&
    before.isLow === now.isLow &&
    before.isAsleep === now.isAsleep &&
    known.notes === cart.notes &&
    isSame(before.stays, now.stays) &&
    before.lock?.isLocked === now.lock?.isLocked &&
    before.lock?.atMs === now.lock?.atMs &&
    before.lock?.by === now.lock?.by &&
    isSame(known.devices, cart.devices) &&
    isSaidSame(known, cart)
  )
}

/** Of several devices each may be all that somebody sees. */
function isSaidSame({ said }: Cart, { said: others }: Cart): boolean {
  if (said.length < 2) return true
  return said.every((one, i) => {
    const other = others[i]
    return other !== undefined && isSame(one.stays, other.stays) && one.lock === other.lock
  })
}

function isSame<T>(before: readonly T[], now: readonly T[]): boolean {
  return before === now || (before.length === now.length && before.every((one, i) => one === now[i]))
}

/** Whether nothing at all is other than it was; of devices that are the same and have the same names. */
export function isUnchanged(known: Cart, cart: Cart): boolean {
  const [before, now] = [known.verdict, cart.verdict]
  return (
    isSame(known.said, cart.said) &&
    known.notes === cart.notes &&
    known.ground.hasParking === cart.ground.hasParking &&
    known.ground.hasBoundary === cart.ground.hasBoundary &&
    before.state === now.state &&
    before.isMoving === now.isMoving &&
    before.isLow === now.isLow &&
    before.isAsleep === now.isAsleep &&
    before.battery?.percent === now.battery?.percent &&
    before.holdsUntilMs === now.holdsUntilMs
  )
}
