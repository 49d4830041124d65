import { decideLock } from '#shared/carts/lock-rule.ts'
import { DEFAULT_SITE_SETTINGS } from '#shared/site/settings.ts'
import type { CartJson } from '#shared/wire/carts.ts'

const LOCK_TYPE = 'teebox'
/** Device types that show messages, until the gateway has reported them. */
export const SCREEN_TYPES: ReadonlySet<string> = new Set(['cartcaddie'])

type Member = CartJson['devices'][number]

/** Returns the device that locks a cart: its tee box, else any; of several a connected one. */
export function lockDeviceOf({ devices }: Pick<CartJson, 'devices'>): Member | undefined {
  const locks = devices.filter(({ device_type }) => device_type === LOCK_TYPE)
  const able = locks.length > 0 ? locks : devices
  return able.find(({ is_online }) => is_online) ?? able[0]
}

/** Returns the device that shows messages in a cart. */
export function screenOf({ devices }: Pick<CartJson, 'devices'>, types = SCREEN_TYPES): Member | undefined {
  const screens = devices.filter(({ device_type }) => types.has(device_type))
  return screens.find(({ is_online }) => is_online) ?? screens[0]
}

/** True if the gateway would reject a lock because the cart moves: the same rule, applied to the data of the page. */
export function isMovingTooFast(
  { position }: Pick<CartJson, 'position'>,
  nowMs: number,
  lockMaxSpeedKmh = DEFAULT_SITE_SETTINGS.lockMaxSpeedKmh,
): boolean {
  if (position === null) return false
  const { lockLocateAfterS } = DEFAULT_SITE_SETTINGS
  const [latE7, longE7] = [Math.round(position.lat * 1e7), Math.round(position.long * 1e7)]
  const fix = { atMs: Date.parse(position.at), latE7, longE7, speedKmh: position.speed }
  const judged = { position: { hardwareId: position.hardware_id, fix, heading: null }, isInParking: false }
  const facts = { hasParking: false, isOnline: true }
  return decideLock(judged, facts, { lockMaxSpeedKmh, lockLocateAfterS }, nowMs) === 'cart_is_moving'
}
