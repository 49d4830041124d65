import { createRandom } from '#shared/random.ts'
import type { CartJson } from '#shared/wire/carts.ts'
import { Cart } from './course/cart.ts'
import { bayOf, type Course, createCourse } from './course/course.ts'
import { dayStartMs } from './course/model-day.ts'
import type { LatLong } from './course/plane.ts'
import { createShadows, type Shadow } from './course/radio.ts'
import { DEVICE_TYPE_NAMES, simulatedType } from './device-types.ts'
import { incidentOf } from './incidents.ts'
import { LoggedDevice } from './logged-device.ts'
import type { DeviceModel } from './sample.ts'

export interface FleetPlanOptions {
  readonly seed: number
  readonly carts: number
  readonly center: LatLong
  /** First part of every hardware id. */
  readonly prefix: string
  /** True if incidents happen to some carts of a live fleet: see `incidents.ts`. */
  readonly hasIncidents?: boolean
}

export interface PlannedDevice {
  readonly hardwareId: string
  readonly deviceType: string
  readonly name: string
  /** Number of its cart, shared by all devices of the cart. */
  readonly cart: string
  /** True if it reports changes of the cart's lock: one device of every cart does. */
  readonly hasLock: boolean
  /** A device without a clock sends no `ts`; its buffered samples are dated by its uptime. */
  readonly hasClock: boolean
}

export interface PlannedCart {
  readonly index: number
  readonly kind: CartJson['kind']
  readonly devices: readonly PlannedDevice[]
}

export interface FleetPlan extends FleetPlanOptions {
  readonly course: Course
  readonly shadows: readonly Shadow[]
  readonly fleet: readonly PlannedCart[]
}

/** Equipment of carts, in rotation: a device of every type, or one of a single type. */
const EQUIPMENT = [DEVICE_TYPE_NAMES, ...DEVICE_TYPE_NAMES.map((name) => [name])]
const CLOCKLESS_EVERY = 5
/** Kinds of the last carts of each `KINDS_EVERY`; all others are golf carts. */
const KINDS_EVERY = 30
const LAST_KINDS: Readonly<Record<number, CartJson['kind']>> = {
  27: 'ranger',
  28: 'food_and_beverage',
  29: 'greenkeeping',
}

/**
 * Plans the course and its carts. The equipment of a cart depends only on its number, never on the seed, so that runs
 * with different seeds can share the devices of one gateway.
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
  const isSlow = incidentOf(plan, index) === 'plays slowly'
  return new Cart(plan.course, { seed: plan.seed, index, fleetSize: plan.carts, isSlow })
}

/** Creates the model of a device on one day; every day has its own errors, so that each can be computed separately. */
export function createDeviceModel(plan: FleetPlan, device: PlannedDevice, day: number): DeviceModel {
  return simulatedType(device.deviceType).createModel({
    center: plan.course.center,
    hasLock: device.hasLock,
    random: createRandom(plan.seed, device.hardwareId, day),
    lasting: createRandom(plan.seed, device.hardwareId, 'interval'),
  })
}

/** Creates the model of a device in the past, on one day of the cart with this index. */
export function createLoggedDevice(
  plan: FleetPlan,
  { device, index, day }: { device: PlannedDevice; index: number; day: number },
): DeviceModel {
  return new LoggedDevice({
    center: plan.course.center,
    random: createRandom(plan.seed, device.hardwareId, day),
    bay: bayOf(plan.course, index),
    dayStartMs: dayStartMs(day, plan.center),
    deviceType: device.deviceType,
    hasLock: device.hasLock,
  })
}

function equip(prefix: string, index: number): PlannedCart {
  const number = String(index + 1).padStart(3, '0')
  const equipment = EQUIPMENT[index % EQUIPMENT.length] ?? []
  return {
    index,
    kind: LAST_KINDS[index % KINDS_EVERY] ?? 'golf_cart',
    devices: equipment.map((deviceType) => {
      const { idPart, name, mayLackClock } = simulatedType(deviceType)
      return {
        hardwareId: `${prefix}-${idPart}-${number}`,
        deviceType,
        name: name(`Cart ${index + 1}`),
        cart: String(index + 1),
        hasLock: deviceType === equipment[0],
        hasClock: !mayLackClock || index % CLOCKLESS_EVERY !== 1,
      }
    }),
  }
}
