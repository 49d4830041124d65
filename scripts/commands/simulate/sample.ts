import type { Random } from '#shared/random.ts'
import type { CartState } from './course/cart.ts'
import { GpsNoise } from './course/gps-noise.ts'
import { type LatLong, toLatLong } from './course/plane.ts'

type Scalar = number | string | boolean

/** Measurements of a device at one time; `fields` are the keys of a telemetry message, without the time. */
export interface Sample {
  readonly atMs: number
  readonly fields: Readonly<Record<string, Scalar>>
}

/** Firmware versions that devices report. */
export const FIRMWARE = { teebox: '2.3.1', cartcaddie: '5.12.0' } as const

/** Device mounted on a cart: decides when to report, and what. */
export interface DeviceModel {
  /** False while the device sleeps, when it is not connected. */
  readonly isAwake: boolean
  /**
   * Observes the cart; returns a sample if one is due. Call it about once a second, with times that do not decrease.
   */
  observe(atMs: number, cart: CartState): Sample | undefined
  /** Returns a complete sample now, due or not. */
  measure(atMs: number, cart: CartState): Sample
}

/** Converts the true speed in m/s to km/h as reported by a receiver. */
export function reportedKmh(speedMps: number, errorKmh: number): number {
  return speedMps === 0 ? 0 : Math.round(Math.max(0, speedMps * 3.6 + errorKmh) * 10) / 10
}

const VOLTAGE_ERROR_V = 0.02

/** Receiver and voltmeter of a device, each with its errors; they return fields of a sample. */
export class Sensors {
  readonly #center: LatLong
  readonly #random: Random
  readonly #speedErrorKmh: number
  readonly #noise: GpsNoise

  constructor(center: LatLong, random: Random, speedErrorKmh: number) {
    this.#center = center
    this.#random = random
    this.#speedErrorKmh = speedErrorKmh
    this.#noise = new GpsNoise(random)
  }

  /** Times must not decrease. */
  gps({ position, speedMps }: CartState, atMs: number) {
    const place = toLatLong(this.#center, this.#noise.observe(position, atMs))
    return { ...place, speed: reportedKmh(speedMps, this.#speedErrorKmh * this.#random.gaussian()) }
  }

  battery({ voltageV }: CartState) {
    return { battery_voltage: Math.round((voltageV + VOLTAGE_ERROR_V * this.#random.gaussian()) * 100) / 100 }
  }
}
