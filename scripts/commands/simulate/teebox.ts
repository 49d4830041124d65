import type { Random } from '#shared/random.ts'
import type { CartState } from './course/cart.ts'
import type { LatLong } from './course/plane.ts'
import { type DeviceModel, FIRMWARE, type Sample, Sensors } from './sample.ts'

const MOVING_MS = 10_000
const RESTING_MS = 600_000
const SETTLING_MS = 15_000
const MOVING_MPS = 0.4
const SPEED_ERROR_KMH = 0.3

/**
 * Lock with a tracker: reports at the start, every 10 s and after a movement, at lock changes, every 10 min at rest.
 */
export class Teebox implements DeviceModel {
  readonly isAwake = true
  readonly #random: Random
  readonly #sensors: Sensors
  #reportedAtMs: number | undefined
  #movedAtMs = 0
  #wasMoving = false
  #wasLocked = true

  constructor(center: LatLong, random: Random) {
    this.#random = random
    this.#sensors = new Sensors(center, random, SPEED_ERROR_KMH)
  }

  observe(atMs: number, cart: CartState): Sample | undefined {
    return this.#isDue(atMs, cart) ? this.measure(atMs, cart) : undefined
  }

  measure(atMs: number, cart: CartState): Sample {
    const isFirst = this.#reportedAtMs === undefined
    this.#reportedAtMs = atMs
    this.#wasMoving = cart.speedMps > MOVING_MPS
    this.#wasLocked = cart.isLocked
    const random = this.#random
    return {
      atMs,
      fields: {
        ...this.#sensors.gps(cart, atMs),
        ...this.#sensors.battery(cart),
        lock_status: cart.isLocked ? 1 : 0,
        ...((isFirst || random.chance(0.1)) && { fw: FIRMWARE.teebox, rssi: random.integer(-108, -71) }),
      },
    }
  }

  #isDue(atMs: number, cart: CartState): boolean {
    if (this.#reportedAtMs === undefined || cart.isLocked !== this.#wasLocked) return true
    const sinceMs = atMs - this.#reportedAtMs
    if (cart.speedMps > MOVING_MPS) {
      this.#movedAtMs = atMs
      return !this.#wasMoving || sinceMs >= MOVING_MS
    }
    if (this.#wasMoving) return atMs - this.#movedAtMs >= SETTLING_MS
    return sinceMs >= RESTING_MS
  }
}
