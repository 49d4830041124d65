import { deviceTypes } from '#devices/all.ts'
import type { Random } from '#shared/random.ts'
import { Cartcaddie } from './cartcaddie.ts'
import type { LatLong } from './course/plane.ts'
import { type DeviceModel, FIRMWARE } from './sample.ts'
import { Teebox } from './teebox.ts'

export interface ModelOptions {
  readonly center: LatLong
  /** True if it reports changes of the cart's lock. */
  readonly hasLock: boolean
  /** Random numbers of the device on one day. */
  readonly random: Random
  /** Random numbers of the device, the same on every day. */
  readonly lasting: Random
}

/** Simulation of the devices of one type. */
export interface SimulatedType {
  /** Name of the type in a hardware id. */
  readonly idPart: string
  readonly name: (cart: string) => string
  readonly firmware: string
  /** True if some of its devices have no clock. */
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

/** Throws if the simulator has no model for a type of `gateway/devices/all.ts`. */
export function simulatedType(name: string): SimulatedType {
  const type = SIMULATED_TYPES[name]
  if (type !== undefined) return type
  throw new Error(`the simulator has no model of ${name}: add one to SIMULATED_TYPES (simulate/device-types.ts)`)
}

/** True if devices of the type download their zones; the others follow the topic of their group. */
export function downloadsZones(name: string): boolean {
  return deviceTypes.some((type) => type.name === name && type.downloadsZones)
}

/** Names of all types that the gateway supports. */
export const DEVICE_TYPE_NAMES: readonly string[] = deviceTypes.map(({ name }) => name)
