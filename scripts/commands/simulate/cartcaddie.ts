import type { Random } from '#shared/random.ts'
import type { CartState } from './course/cart.ts'
import type { LatLong } from './course/plane.ts'
import { type DeviceModel, FIRMWARE, type Sample, Sensors } from './sample.ts'

const STAYS_AWAKE_MS = 120_000
const BATTERY_MS = 10_000
const EXTRAS_MS = 30_000
const SPEED_ERROR_KMH = 0.2

export interface CartcaddieOptions {
  /** Seconds between two reports. */
  readonly intervalS: number
  /** True if it also reports the lock: on a cart without a teebox. */
  readonly hasLock: boolean
}

/** In-cart screen: reports every second or few from unlocking until two minutes after locking; sleeps otherwise. */
export class Cartcaddie implements DeviceModel {
  readonly #random: Random
  readonly #sensors: Sensors
  readonly #options: CartcaddieOptions
  #awakeUntilMs = 0
  #isAwake = false
  #reportedAtMs = 0
  #batteryAtMs = 0
  #extrasAtMs = 0
  #wasLocked: boolean | undefined

  constructor(center: LatLong, random: Random, options: CartcaddieOptions) {
    this.#random = random
    this.#sensors = new Sensors(center, random, SPEED_ERROR_KMH)
    this.#options = options
  }

  get isAwake(): boolean {
    return this.#isAwake
  }

  observe(atMs: number, cart: CartState): Sample | undefined {
    if (!cart.isLocked) this.#awakeUntilMs = atMs + STAYS_AWAKE_MS
    this.#isAwake = atMs < this.#awakeUntilMs
    if (!this.#isAwake) return undefined
    const isDue = atMs - this.#reportedAtMs >= this.#options.intervalS * 1000
    if (!isDue && cart.isLocked === this.#wasLocked) return undefined
    return this.#report(atMs, cart)
  }

  measure(atMs: number, cart: CartState): Sample {
    this.#batteryAtMs = 0
    this.#extrasAtMs = 0
    return this.#report(atMs, cart)
  }

  #report(atMs: number, cart: CartState): Sample {
    const hasTurned = cart.isLocked !== this.#wasLocked
    const withBattery = atMs - this.#batteryAtMs >= BATTERY_MS
    const withExtras = hasTurned || atMs - this.#extrasAtMs >= EXTRAS_MS
    this.#reportedAtMs = atMs
    this.#wasLocked = cart.isLocked
    if (withBattery) this.#batteryAtMs = atMs
    if (withExtras) this.#extrasAtMs = atMs
    return {
      atMs,
      fields: {
        ...this.#sensors.gps(cart, atMs),
        ...(withBattery && this.#sensors.battery(cart)),
        ...(withExtras && this.#options.hasLock && { lock_status: cart.isLocked }),
        ...(withExtras && this.#extras(cart)),
      },
    }
  }

  #extras(cart: CartState) {
    return {
      fw: FIRMWARE.cartcaddie,
      screen_brightness: this.#random.integer(60, 100),
      wifi_rssi: this.#random.integer(-88, -48),
      hole: cart.hole ?? 0,
    }
  }
}
