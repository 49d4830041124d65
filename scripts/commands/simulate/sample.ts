import type { Random } from '#shared/random.ts'
import type { CartState } from './course/cart.ts'
import { GpsNoise } from './course/gps-noise.ts'
import { type LatLong, toLatLong } from './course/plane.ts'

type Scalar = number | string | boolean

/** What a device measured at one time; `fields` are the keys of a telemetry message, without the time. */
export interface Sample {
  readonly atMs: number
  readonly fields: Readonly<Record<string, Scalar>>
}

/** What a device says it runs. */
export const FIRMWARE = { teebox: '2.3.1', cartcaddie: '5.12.0' } as const

/** A device mounted on a cart: decides when to report, and what. */
export interface DeviceModel {
  /** False while the device sleeps: it is not connected then. */
  readonly isAwake: boolean
  /** Looks at the cart; a sample if one is due. To be called about once a second, with times that do not go back. */
  observe(atMs: number, cart: CartState): Sample | undefined
  /** A complete sample now, due or not. */
  measure(atMs: number, cart: CartState): Sample
}

/** Speed as a receiver reports it, km/h, from the true one in m/s. */
export function reportedKmh(speedMps: number, errorKmh: number): number {
  return speedMps === 0 ? 0 : Math.round(Math.max(0, speedMps * 3.6 + errorKmh) * 10) / 10
}

const VOLTAGE_ERROR_V = 0.02

/** The receiver and the voltmeter of a device, each with its errors; what they measure are fields of a sample. */
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

  /** Times must not go back. */
  gps({ position, speedMps }: CartState, atMs: number) {
    const place = toLatLong(this.#center, this.#noise.observe(position, atMs))
    return { ...place, speed: reportedKmh(speedMps, this.#speedErrorKmh * this.#random.gaussian()) }
  }

  battery({ voltageV }: CartState) {
    return { battery_voltage: Math.round((voltageV + VOLTAGE_ERROR_V * this.#random.gaussian()) * 100) / 100 }
  }
}
