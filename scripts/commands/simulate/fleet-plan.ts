import { Cartcaddie } from './cartcaddie.ts'
import { Cart } from './course/cart.ts'
import { type Course, createCourse } from './course/course.ts'
import type { LatLong } from './course/plane.ts'
import { createShadows, type Shadow } from './course/radio.ts'
import { createRandom } from './random.ts'
import type { DeviceModel, DeviceType } from './sample.ts'
import { Teebox } from './teebox.ts'

export interface FleetPlanOptions {
  readonly seed: number
  readonly carts: number
  readonly center: LatLong
  /** First part of every hardware id. */
  readonly prefix: string
}

export interface PlannedDevice {
  readonly hardwareId: string
  readonly deviceType: DeviceType
  readonly name: string
  /** Reports the turns of the cart's lock: one device of every cart does. */
  readonly hasLock: boolean
  /** Without a clock of its own a device sends no `ts`; what it buffers is dated by its uptime. */
  readonly hasClock: boolean
}

export interface PlannedCart {
  readonly index: number
  readonly devices: readonly PlannedDevice[]
}

export interface FleetPlan extends FleetPlanOptions {
  readonly course: Course
  readonly shadows: readonly Shadow[]
  readonly fleet: readonly PlannedCart[]
}

const EQUIPMENT: readonly (readonly DeviceType[])[] = [['teebox', 'cartcaddie'], ['teebox'], ['cartcaddie']]
const CLOCKLESS_EVERY = 5

/**
 * The course and who drives on it. What a cart carries follows from its number alone, never from the seed,
 * so that runs with different seeds can share the devices of one gateway.
 */
export function planFleet(options: FleetPlanOptions): FleetPlan {
  const course = createCourse(options.seed, options.center)
  return {
    ...options,
    course,
    shadows: createShadows(options.seed, course),
    fleet: Array.from({ length: options.carts }, (_, index) => equip(options.prefix, index)),
  }
}

export function createCart(plan: FleetPlan, index: number): Cart {
  return new Cart(plan.course, { seed: plan.seed, index, fleetSize: plan.carts })
}

/** The device as it behaves on one day; every day has its own errors, so that each can be computed alone. */
export function createDeviceModel(plan: FleetPlan, device: PlannedDevice, day: number): DeviceModel {
  const random = createRandom(plan.seed, device.hardwareId, day)
  if (device.deviceType === 'teebox') return new Teebox(plan.course.center, random)
  const intervalS = createRandom(plan.seed, device.hardwareId, 'interval').pick([1, 2, 3, 5])
  return new Cartcaddie(plan.course.center, random, { intervalS, hasLock: device.hasLock })
}

function equip(prefix: string, index: number): PlannedCart {
  const number = String(index + 1).padStart(3, '0')
  const equipment = EQUIPMENT[index % EQUIPMENT.length] ?? []
  return {
    index,
    devices: equipment.map((deviceType) => ({
      hardwareId: `${prefix}-${deviceType === 'teebox' ? 'tb' : 'cc'}-${number}`,
      deviceType,
      name: deviceType === 'teebox' ? `Cart ${index + 1}` : `Cart ${index + 1} screen`,
      hasLock: deviceType === equipment[0],
      hasClock: deviceType === 'cartcaddie' || index % CLOCKLESS_EVERY !== 1,
    })),
  }
}
