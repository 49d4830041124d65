import { deviceTypes } from '#devices/all.ts'
import type { Random } from '#shared/random.ts'
import { Cartcaddie } from './cartcaddie.ts'
import type { LatLong } from './course/plane.ts'
import { type DeviceModel, FIRMWARE } from './sample.ts'
import { Teebox } from './teebox.ts'

/** What a model is made from. */
export interface ModelOptions {
  readonly center: LatLong
  /** Reports the turns of the cart's lock. */
  readonly hasLock: boolean
  /** Of the device on one day. */
  readonly random: Random
  /** Of the device, the same on every day. */
  readonly lasting: Random
}

/** How the simulator plays the devices of one type. */
export interface SimulatedType {
  /** Stands for the type in a hardware id. */
  readonly idPart: string
  readonly name: (cart: string) => string
  readonly firmware: string
  /** Some of its devices have no clock of their own. */
  readonly mayLackClock: boolean
  readonly createModel: (options: ModelOptions) => DeviceModel
}

const SIMULATED_TYPES: Readonly<Record<string, SimulatedType>> = {
  teebox: {
    idPart: 'tb',
    name: (cart) => cart,
    firmware: FIRMWARE.teebox,
    mayLackClock: true,
    createModel: ({ center, random }) => new Teebox(center, random),
  },
  cartcaddie: {
    idPart: 'cc',
    name: (cart) => `${cart} screen`,
    firmware: FIRMWARE.cartcaddie,
    mayLackClock: false,
    createModel: ({ center, hasLock, random, lasting }) =>
      new Cartcaddie(center, random, { intervalS: lasting.pick([1, 2, 3, 5]), hasLock }),
  },
}

/** Throws when the simulator has no model for a type of `gateway/devices/all.ts`. */
export function simulatedType(name: string): SimulatedType {
  const type = SIMULATED_TYPES[name]
  if (type !== undefined) return type
  throw new Error(`the simulator has no model of ${name}: add one to SIMULATED_TYPES (simulate/device-types.ts)`)
}

/** Whether devices of the type download their zones; the others follow the topic of their group. */
export function downloadsZones(name: string): boolean {
  return deviceTypes.some((type) => type.name === name && type.downloadsZones)
}

/** The names of all types, as the gateway brings them. */
export const DEVICE_TYPE_NAMES: readonly string[] = deviceTypes.map(({ name }) => name)
