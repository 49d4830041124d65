import type { Cart } from '../cart.ts'

type UnnumberedCart = Omit<Cart, 'revision'>

/** Builds an evaluated cart with its revision: `next` for each part that differs from `known`. */
export function withRevision(known: Cart | undefined, cart: UnnumberedCart, next: number): Cart {
  const revision = {
    shown: known !== undefined && isShownSame(known, cart) ? known.revision.shown : next,
    rules: known !== undefined && isSameToRules(known, cart) ? known.revision.rules : next,
  }
  return { ...cart, revision }
}

/** True if clients show the same state, zones, lock, battery, devices and notes, whatever the position in the zones. */
function isShownSame(known: UnnumberedCart, cart: UnnumberedCart): boolean {
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
    isReportedSame(known, cart)
  )
}

/** True if each device reports the same; a user may see only one of several. */
function isReportedSame({ deviceReports }: UnnumberedCart, { deviceReports: others }: UnnumberedCart): boolean {
  if (deviceReports.length < 2) return true
  return deviceReports.every((one, i) => {
    const other = others[i]
    return other !== undefined && isSame(one.stays, other.stays) && one.lock === other.lock
  })
}

/** True if alert rules find the same, apart from the position, the voltage, their times, and the time of standstill. */
function isSameToRules(known: UnnumberedCart, cart: UnnumberedCart): boolean {
  const [before, now] = [known.verdict, cart.verdict]
  return (
    before.stays === now.stays &&
    known.notes === cart.notes &&
    known.zoneContext === cart.zoneContext &&
    before.state === now.state &&
    before.isInParking === now.isInParking &&
    before.isAsleep === now.isAsleep &&
    before.lock?.isLocked === now.lock?.isLocked &&
    before.battery?.restV === now.battery?.restV &&
    before.position?.hardwareId === now.position?.hardwareId &&
    known.deviceReports.length === cart.deviceReports.length &&
    known.deviceReports.every(
      ({ isOnline, announcedSleep }, i) =>
        isOnline === cart.deviceReports[i]?.isOnline && announcedSleep === cart.deviceReports[i]?.announcedSleep,
    )
  )
}

/** True if nothing at all differs. Requires the same devices with the same names. */
export function isUnchanged(known: Cart, cart: Cart): boolean {
  const [before, now] = [known.verdict, cart.verdict]
  return (
    isSame(known.deviceReports, cart.deviceReports) &&
    known.notes === cart.notes &&
    known.zoneContext.hasParking === cart.zoneContext.hasParking &&
    known.zoneContext.hasBoundary === cart.zoneContext.hasBoundary &&
    before.state === now.state &&
    before.isMoving === now.isMoving &&
    before.isLow === now.isLow &&
    before.isAsleep === now.isAsleep &&
    before.battery?.percent === now.battery?.percent &&
    before.holdsUntilMs === now.holdsUntilMs
  )
}

function isSame<T>(before: readonly T[], now: readonly T[]): boolean {
  return before === now || (before.length === now.length && before.every((one, i) => one === now[i]))
}
