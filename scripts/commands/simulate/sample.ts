import type { CartState } from './course/cart.ts'

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

export function reportedVolts(voltageV: number, errorV: number): number {
  return Math.round((voltageV + errorV) * 100) / 100
}
