import { type CartDevice, type CartSettings, evaluateCart } from '#shared/carts/cart-state.ts'
import { advanceMotion, type MotionSettings, NO_MOTION } from '#shared/carts/motion.ts'
import { NO_CART_NOTES, toCartJson } from '#shared/wire/cart-json.ts'
import type { CartJson } from '#shared/wire/carts.ts'
import type { TrackedDevice } from './cart-track.ts'
import type { ReplayZones } from './replay-zones.ts'
import { lastIndexAt } from './track.ts'

/** Device of a cart, and the group whose zones count for it. */
export interface ReplayedDevice extends TrackedDevice {
  groupId: number | null
}

export type ReplaySettings = CartSettings & MotionSettings

/** Number of positions before a moment that determine heading and zones: a heading needs two, a zone three. */
const LOOKBACK_FIXES = 8

/**
 * Cart as the cart rules evaluate it at any moment of its tracks. Data without a history is left out: the connection
 * (it counts as connected, so it loses its signal after the longer time), the lock and the battery.
 */
export class ReplayedCart {
  readonly #key: string
  readonly #devices: readonly ReplayedDevice[]
  readonly #zones: ReplayZones
  readonly #settings: ReplaySettings
  readonly #reports: { index: number; device: CartDevice }[]
  #shown: { fromMs: number; untilMs: number; cart: CartJson | null } | null = null

  constructor(
    key: string,
    devices: readonly ReplayedDevice[],
    { zones, settings }: { zones: ReplayZones; settings: ReplaySettings },
  ) {
    this.#key = key
    this.#devices = devices
    this.#zones = zones
    this.#settings = settings
    this.#reports = devices.map((device) => ({ index: -1, device: withoutData(device) }))
  }

  /** Null before its first position; the same object as long as it is unchanged. */
  at(atMs: number): CartJson | null {
    let isOther = false
    for (const [i, device] of this.#devices.entries()) {
      const index = lastIndexAt(device.track.atMs, atMs)
      if (index === this.#reports[i]?.index) continue
      this.#reports[i] = { index, device: this.#reportAt(device, index) }
      isOther = true
    }
    const shown = this.#shown
    if (!isOther && shown !== null && atMs >= shown.fromMs && atMs < shown.untilMs) return shown.cart
    const deviceReports = this.#reports.map(({ device }) => device)
    const verdict = evaluateCart(deviceReports, this.#zones.zoneContextOf(this.#groupOf()), this.#settings, {
      nowMs: atMs,
      startedAtMs: 0,
    })
    const devices = deviceReports.map(({ hardwareId, deviceType, isOnline }) => ({
      hardwareId,
      deviceType,
      name: null,
      isOnline,
    }))
    const cart =
      verdict.position === null
        ? null
        : toCartJson(
            {
              key: this.#key,
              devices,
              verdict,
              notes: NO_CART_NOTES,
              party: null,
              autoLockAtMs: null,
              openAlertIds: [],
            },
            false,
            false,
          )
    this.#shown = { fromMs: atMs, untilMs: verdict.holdsUntilMs, cart }
    return cart
  }

  #groupOf(): number | null {
    return this.#devices[0]?.groupId ?? null
  }

  #reportAt(device: ReplayedDevice, index: number): CartDevice {
    if (index < 0) return withoutData(device)
    const { atMs, latE7, longE7, speedKmh } = device.track
    let motion = NO_MOTION
    const fixes = []
    for (let i = Math.max(0, index - LOOKBACK_FIXES); i <= index; i++) {
      const speed = speedKmh[i] ?? Number.NaN
      const fix = { atMs: atMs[i] ?? 0, latE7: latE7[i] ?? 0, longE7: longE7[i] ?? 0 }
      const position = { ...fix, speedKmh: Number.isNaN(speed) ? null : speed }
      motion = advanceMotion(motion, { atMs: fix.atMs, position, voltageV: null }, this.#settings)
      fixes.push(fix)
    }
    const stays = this.#zones.staysAfter(fixes, device.groupId)
    return { ...withoutData(device), motion, stays, lastSeenAtMs: atMs[index] ?? null }
  }
}

function withoutData({ hardwareId, deviceType }: ReplayedDevice): CartDevice {
  return {
    hardwareId,
    deviceType,
    isOnline: true,
    lastSeenAtMs: null,
    announcedSleep: false,
    motion: NO_MOTION,
    stays: [],
    outSinceMs: null,
    lock: null,
  }
}
