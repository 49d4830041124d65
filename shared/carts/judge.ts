import type { SiteSettings } from '#shared/site/settings.ts'
import type { ZoneType } from '#shared/zones/zone.ts'
import { type CartFix, type CartMotion, isPackLow } from './motion.ts'

/** A position this old says nothing of how fast it is. */
const MOVING_WITHIN_MS = 60_000
/** The screen speaks for the position only when the lock has been behind it for so long. */
const OTHER_AHEAD_MS = 60_000

/** Of a device type with a lock, which speaks for its cart. */
const LOCK_TYPE = 'teebox'

/** A zone that a device is in; `sinceMs` is the event time at which it came in, or was first known to be. */
export interface ZoneStay {
  zoneId: string
  name: string
  type: ZoneType
  hole: number | null
  sinceMs: number
}

/** What one device of a cart says of it. */
export interface CartDevice {
  hardwareId: string
  deviceType: string
  isOnline: boolean
  /** Receive time of its last message; null before the first. */
  heardAtMs: number | null
  /** Whether its last goodbye said that it goes to sleep. */
  saidSleep: boolean
  motion: CartMotion
  /** Zones that count for the cart and that it is in, by zone_id. */
  stays: readonly ZoneStay[]
  /** Event time of the fix that left parking, or of the first known outside; null while it is in, or never was seen. */
  outSinceMs: number | null
  lock: CartLock | null
}

/** What was said last of a lock; `by` is who asked for it, or the code. */
export interface CartLock {
  isLocked: boolean
  atMs: number
  /** Null when only telemetry said it. */
  source: string | null
  by: string | null
}

/** Where the zones of a cart leave room for its states. */
export interface CartGround {
  hasParking: boolean
  hasBoundary: boolean
}

export type CartState = 'in' | 'out' | 'outside' | 'silent' | 'unknown'

/** What all rules of a cart go by. */
export interface CartVerdict {
  state: CartState
  isMoving: boolean
  isLow: boolean
  isAsleep: boolean
  /** Whether it is in a parking zone, whatever its state. */
  isInParking: boolean
  position: { hardwareId: string; fix: CartFix; heading: number | null } | null
  stays: readonly ZoneStay[]
  lock: (CartLock & { hardwareId: string }) | null
  battery: CartBattery | null
  outSinceMs: number | null
  heardAtMs: number | null
}

export interface CartBattery {
  hardwareId: string
  voltageV: number
  atMs: number
  restV: number | null
  restAtMs: number | null
  /** Whole; null while the voltages of the pack are not known. */
  percent: number | null
}

export type CartSettings = Pick<SiteSettings, 'pack' | 'silentAfterS' | 'silentOnCourseAfterS'> & {
  movingKmh: number
}

/**
 * The rule of a cart, the same at the gateway, at the head office and in a browser: what its devices say, judged at
 * `nowMs`. Silence is counted from `startedAtMs` at the earliest: nobody listened before.
 */
export function judgeCart(
  devices: readonly CartDevice[],
  ground: CartGround,
  settings: CartSettings,
  { nowMs, startedAtMs }: { nowMs: number; startedAtMs: number },
): CartVerdict {
  const speaker = speakerOf(devices)
  const fix = speaker?.motion.fix ?? null
  const stays = speaker?.stays ?? []
  const isInParking = stays.some(({ type }) => type === 'parking')
  const isOnline = devices.some((device) => device.isOnline)
  const heardAtMs = newest(devices.map((device) => device.heardAtMs))
  const isAsleep = isInParking && !isOnline && lastHeard(devices)?.saidSleep === true
  const silentMs = nowMs - Math.max(heardAtMs ?? 0, startedAtMs)
  const isSilent = isOnline
    ? !isInParking && silentMs >= settings.silentOnCourseAfterS * 1000
    : silentMs >= settings.silentAfterS * 1000
  const isOutside = ground.hasBoundary && !isInParking && !stays.some(({ type }) => type === 'boundary')
  const battery = batteryOf(devices)
  return {
    state: stateOf({ isKnown: fix !== null, isAsleep, isSilent, isInParking, isOutside }),
    isMoving:
      fix !== null && nowMs - fix.atMs < MOVING_WITHIN_MS && (fix.speedKmh ?? 0) >= settings.movingKmh,
    isLow: battery !== null && isPackLow(battery.motion, settings.pack.lowV),
    isAsleep,
    isInParking,
    position:
      speaker === null || fix === null
        ? null
        : { hardwareId: speaker.hardwareId, fix, heading: speaker.motion.heading },
    stays,
    lock: lockOf(devices),
    battery: battery === null ? null : toBattery(battery, settings),
    outSinceMs: isInParking ? null : (speaker?.outSinceMs ?? null),
    heardAtMs,
  }
}

interface StateFacts {
  isKnown: boolean
  isAsleep: boolean
  isSilent: boolean
  isInParking: boolean
  isOutside: boolean
}

/** The first that holds. */
function stateOf({ isKnown, isAsleep, isSilent, isInParking, isOutside }: StateFacts): CartState {
  if (!isKnown) return 'unknown'
  if (isAsleep) return 'in'
  if (isSilent) return 'silent'
  if (isInParking) return 'in'
  return isOutside ? 'outside' : 'out'
}

/** Whose position counts: the lock's newest, unless that of another device is over a minute newer. */
function speakerOf(devices: readonly CartDevice[]): CartDevice | null {
  const at = ({ motion }: CartDevice) => motion.fix?.atMs ?? Number.NEGATIVE_INFINITY
  const seen = devices.filter(({ motion }) => motion.fix !== null)
  const lock = newestOf(seen.filter(isLock), at)
  const other = newestOf(
    seen.filter((device) => !isLock(device)),
    at,
  )
  if (lock === null || other === null) return lock ?? other
  return at(other) - at(lock) > OTHER_AHEAD_MS ? other : lock
}

/** The newest word of the lock of the cart, else of any device. */
function lockOf(devices: readonly CartDevice[]): CartVerdict['lock'] {
  const said = devices.filter(({ lock }) => lock !== null)
  const at = ({ lock }: CartDevice) => lock?.atMs ?? 0
  const device = newestOf(said.filter(isLock), at) ?? newestOf(said, at)
  return device?.lock == null ? null : { ...device.lock, hardwareId: device.hardwareId }
}

function batteryOf(devices: readonly CartDevice[]): CartDevice | null {
  const said = devices.filter(({ motion }) => motion.battery !== null)
  const at = ({ motion }: CartDevice) => motion.battery?.atMs ?? 0
  return newestOf(said.filter(isLock), at) ?? newestOf(said, at)
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

function lastHeard(devices: readonly CartDevice[]): CartDevice | null {
  return newestOf(devices, ({ heardAtMs }) => heardAtMs ?? Number.NEGATIVE_INFINITY)
}

function newest(times: readonly (number | null)[]): number | null {
  const known = times.filter((time) => time !== null)
  return known.length === 0 ? null : Math.max(...known)
}

/** Of equals the first. */
function newestOf<Item>(items: readonly Item[], atOf: (item: Item) => number): Item | null {
  return items.reduce<Item | null>(
    (best, item) => (best === null || atOf(item) > atOf(best) ? item : best),
    null,
  )
}
