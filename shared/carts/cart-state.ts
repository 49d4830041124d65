import type { SiteSettings } from '#shared/site/settings.ts'
import type { ZoneType } from '#shared/zones/zone.ts'
import { type CartFix, type CartMotion, isPackLow } from './motion.ts'

/** Maximum age of a position whose speed still counts. */
export const MOVING_WITHIN_MS = 60_000
/** Age difference from which the position of the screen replaces that of the lock. */
export const STALE_LOCK_MS = 60_000

/** Device type with a lock, which takes precedence for its cart. */
export const LOCK_TYPE = 'teebox'

/** Zone that a device is in; `sinceMs` is the event time at which it entered or was first known to be inside. */
export interface ZoneStay {
  zoneId: string
  name: string
  type: ZoneType
  hole: number | null
  locksHere?: true
  sinceMs: number
}

/** Reported state of one device of a cart. */
export interface CartDevice {
  hardwareId: string
  deviceType: string
  isOnline: boolean
  /** Receive time of its last message; null before the first. */
  lastSeenAtMs: number | null
  /** True if its last disconnect message announced sleep. */
  announcedSleep: boolean
  motion: CartMotion
  /** Zones that apply to the cart and contain it, by zone_id. */
  stays: readonly ZoneStay[]
  /** Event time of the fix that left parking, or of the first known outside; null while in, or without a position. */
  outSinceMs: number | null
  lock: CartLock | null
}

/** Last reported lock state; `by` is the requester, or the code. */
export interface CartLock {
  isLocked: boolean
  atMs: number
  /** Null if the state comes only from telemetry. */
  source: string | null
  by: string | null
}

/** States that the zones of a cart make possible. */
export interface CartZoneContext {
  hasParking: boolean
  hasBoundary: boolean
}

export type CartState = 'in' | 'out' | 'outside' | 'silent' | 'unknown'

/** Evaluated cart, the input of all cart rules. */
export interface EvaluatedCart {
  state: CartState
  isMoving: boolean
  isLow: boolean
  isAsleep: boolean
  /** True if the cart is in a parking zone, regardless of its state. */
  isInParking: boolean
  position: { hardwareId: string; fix: CartFix; heading: number | null } | null
  stays: readonly ZoneStay[]
  /** Event time since which the cart has not moved; null if it has no position. */
  stillSinceMs: number | null
  lock: (CartLock & { hardwareId: string }) | null
  battery: CartBattery | null
  outSinceMs: number | null
  lastSeenAtMs: number | null
  /** Time at which the result changes without new input; infinite for never. */
  holdsUntilMs: number
}

export interface CartBattery {
  hardwareId: string
  voltageV: number
  atMs: number
  restV: number | null
  restAtMs: number | null
  /** Whole per cent; null while the battery voltages are not configured. */
  percent: number | null
}

export type CartSettings = Pick<SiteSettings, 'pack' | 'silentAfterS' | 'silentOnCourseAfterS'> & {
  movingKmh: number
}

/**
 * Evaluates a cart from the reports of its devices at `nowMs`, identically in the gateway, the hub and the browser.
 * Signal loss counts from `startedAtMs` at the earliest, because nothing was received before.
 */
export function evaluateCart(
  devices: readonly CartDevice[],
  zoneContext: CartZoneContext,
  settings: CartSettings,
  { nowMs, startedAtMs }: { nowMs: number; startedAtMs: number },
): EvaluatedCart {
  const speaker = speakerOf(devices)
  const fix = speaker?.motion.fix ?? null
  const stays = speaker?.stays ?? []
  const isInParking = isInZone(stays, 'parking')
  const isOnline = devices.some(isConnected)
  const lastSeen = newestOf(devices, lastSeenAtMsOf) ?? devices[0]
  const lastSeenAtMs = lastSeen?.lastSeenAtMs ?? null
  const isAsleep = isInParking && !isOnline && lastSeen?.announcedSleep === true
  const patienceS = isOnline ? settings.silentOnCourseAfterS : settings.silentAfterS
  const silentAtMs =
    isOnline && isInParking ? Number.POSITIVE_INFINITY : Math.max(lastSeenAtMs ?? 0, startedAtMs) + patienceS * 1000
  const isSilent = nowMs >= silentAtMs
  const movesUntilMs = fix === null ? 0 : fix.atMs + MOVING_WITHIN_MS
  const isMoving = nowMs < movesUntilMs && (fix?.speedKmh ?? 0) >= settings.movingKmh
  const isOutside = zoneContext.hasBoundary && !isInParking && !isInZone(stays, 'boundary')
  const battery = batteryOf(devices)
  return {
    state: stateOf({ isKnown: fix !== null, isAsleep, isSilent, isInParking, isOutside }),
    isMoving,
    isLow: battery !== null && isPackLow(battery.motion, settings.pack.lowV),
    isAsleep,
    isInParking,
    position:
      speaker === null || fix === null
        ? null
        : { hardwareId: speaker.hardwareId, fix, heading: speaker.motion.heading },
    stays,
    stillSinceMs: speaker?.motion.still?.sinceMs ?? null,
    lock: lockOf(devices),
    battery: battery === null ? null : toBattery(battery, settings),
    outSinceMs: isInParking ? null : (speaker?.outSinceMs ?? null),
    lastSeenAtMs,
    holdsUntilMs: Math.min(
      isSilent ? Number.POSITIVE_INFINITY : silentAtMs,
      isMoving ? movesUntilMs : Number.POSITIVE_INFINITY,
    ),
  }
}

interface StateFacts {
  isKnown: boolean
  isAsleep: boolean
  isSilent: boolean
  isInParking: boolean
  isOutside: boolean
}

/** Returns the first state whose condition is met. */
function stateOf({ isKnown, isAsleep, isSilent, isInParking, isOutside }: StateFacts): CartState {
  if (!isKnown) return 'unknown'
  if (isAsleep) return 'in'
  if (isSilent) return 'silent'
  if (isInParking) return 'in'
  return isOutside ? 'outside' : 'out'
}

/** Device whose position counts: the lock device with the newest, unless another device has one over a minute newer. */
function speakerOf(devices: readonly CartDevice[]): CartDevice | null {
  const lock = newestOf(devices, lockFixMsOf)
  const other = newestOf(devices, otherFixMsOf)
  if (lock === null || other === null) return lock ?? other
  return (fixMsOf(other) ?? 0) - (fixMsOf(lock) ?? 0) > STALE_LOCK_MS ? other : lock
}

/** Newest lock report: of a lock device, else of any device. */
function lockOf(devices: readonly CartDevice[]): EvaluatedCart['lock'] {
  const device = newestOf(devices, ownLockAtMsOf) ?? newestOf(devices, lockAtMsOf)
  if (device?.lock == null) return null
  const { isLocked, atMs, source, by } = device.lock
  return { isLocked, atMs, source, by, hardwareId: device.hardwareId }
}

function batteryOf(devices: readonly CartDevice[]): CartDevice | null {
  return newestOf(devices, ownVoltageMsOf) ?? newestOf(devices, voltageMsOf)
}

function toBattery({ hardwareId, motion }: CartDevice, { pack }: CartSettings): CartBattery | null {
  const { battery, rest } = motion
  if (battery === null) return null
  const { emptyV, fullV } = pack
  const isPackKnown = rest !== null && emptyV !== null && fullV !== null
  return {
    hardwareId,
    voltageV: battery.voltageV,
    atMs: battery.atMs,
    restV: rest?.voltageV ?? null,
    restAtMs: rest?.atMs ?? null,
    percent: isPackKnown
      ? Math.min(100, Math.max(0, Math.round(((rest.voltageV - emptyV) / (fullV - emptyV)) * 100)))
      : null,
  }
}

function isLock({ deviceType }: CartDevice): boolean {
  return deviceType === LOCK_TYPE
}

function isConnected({ isOnline }: CartDevice): boolean {
  return isOnline
}

function isInZone(stays: readonly ZoneStay[], type: ZoneType): boolean {
  for (const stay of stays) if (stay.type === type) return true
  return false
}

// times of the last report of each kind; null without one or if the device is of another type
const lastSeenAtMsOf = ({ lastSeenAtMs }: CartDevice) => lastSeenAtMs
const fixMsOf = ({ motion }: CartDevice) => motion.fix?.atMs ?? null
const lockFixMsOf = (device: CartDevice) => (isLock(device) ? fixMsOf(device) : null)
const otherFixMsOf = (device: CartDevice) => (isLock(device) ? null : fixMsOf(device))
const lockAtMsOf = ({ lock }: CartDevice) => lock?.atMs ?? null
const ownLockAtMsOf = (device: CartDevice) => (isLock(device) ? lockAtMsOf(device) : null)
const voltageMsOf = ({ motion }: CartDevice) => motion.battery?.atMs ?? null
const ownVoltageMsOf = (device: CartDevice) => (isLock(device) ? voltageMsOf(device) : null)

/** Newest device, the first of equals; null if none has a time. Allocates nothing: runs for all carts every second. */
function newestOf(devices: readonly CartDevice[], atMsOf: (device: CartDevice) => number | null): CartDevice | null {
  let newest: CartDevice | null = null
  let newestMs = Number.NEGATIVE_INFINITY
  for (const device of devices) {
    const atMs = atMsOf(device)
    if (atMs === null || atMs <= newestMs) continue
    newest = device
    newestMs = atMs
  }
  return newest
}
