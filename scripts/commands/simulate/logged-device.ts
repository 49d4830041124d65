import type { Random } from '#shared/random.ts'
import type { CartState } from './course/cart.ts'
import { DAY_START_HOUR } from './course/itinerary.ts'
import { distanceM, type LatLong, type Point } from './course/plane.ts'
import { type DeviceModel, FIRMWARE, type Sample, Sensors } from './sample.ts'

/** Seconds between fixes while the cart is out, and while it is in. */
const OUT_S = 5
const IN_S = 60
/** Seconds between reports of a second device of a cart. */
const OFFSET_S = 60
const BATTERY_S = 60
/** Twelve hours of a day, in seconds since its start, in which a cart that is in reports. */
const OPENS_S = (6.5 - DAY_START_HOUR) * 3600
const CLOSES_S = OPENS_S + 12 * 3600
/** Distance from its bay within which a cart is in. */
const BAY_M = 20
const SPEED_ERROR_KMH = 0.3

export interface LoggedDeviceOptions {
  readonly center: LatLong
  readonly random: Random
  readonly bay: Point
  readonly dayStartMs: number
  readonly deviceType: string
  /** True for the main device of a cart. */
  readonly hasLock: boolean
}

/** Device of the past at the rate for figures of a course: a fix per 5 s out and per 60 s in, twelve hours a day. */
export class LoggedDevice implements DeviceModel {
  readonly isAwake = true
  readonly #options: LoggedDeviceOptions
  readonly #sensors: Sensors
  #reportedAtMs = 0
  #batteryAtMs = 0
  #wasLocked: boolean | undefined

  constructor(options: LoggedDeviceOptions) {
    this.#options = options
    this.#sensors = new Sensors(options.center, options.random, SPEED_ERROR_KMH)
  }

  observe(atMs: number, cart: CartState): Sample | undefined {
    return this.#isDue(atMs, cart) ? this.measure(atMs, cart) : undefined
  }

  measure(atMs: number, cart: CartState): Sample {
    const { deviceType, hasLock } = this.#options
    const isFirst = this.#wasLocked === undefined
    const hasTurned = cart.isLocked !== this.#wasLocked
    const withBattery = atMs - this.#batteryAtMs >= BATTERY_S * 1000
    this.#reportedAtMs = atMs
    this.#wasLocked = cart.isLocked
    if (withBattery) this.#batteryAtMs = atMs
    const isTeebox = deviceType === 'teebox'
    return {
      atMs,
      fields: {
        ...this.#sensors.gps(cart, atMs),
        ...(withBattery && this.#sensors.battery(cart)),
        ...(hasTurned && hasLock && { lock_status: isTeebox ? Number(cart.isLocked) : cart.isLocked }),
        ...(isFirst && { fw: isTeebox ? FIRMWARE.teebox : FIRMWARE.cartcaddie }),
      },
    }
  }

  #isDue(atMs: number, cart: CartState): boolean {
    const { bay, dayStartMs, hasLock } = this.#options
    const isOut = distanceM(cart.position, bay) > BAY_M
    const second = (atMs - dayStartMs) / 1000
    if (!isOut && (second < OPENS_S || second >= CLOSES_S)) return false
    if (hasLock && this.#wasLocked !== undefined && cart.isLocked !== this.#wasLocked) return true
    const everyS = hasLock ? (isOut ? OUT_S : IN_S) : OFFSET_S
    return atMs - this.#reportedAtMs >= everyS * 1000
  }
}
