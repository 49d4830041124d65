import { type Caller, canSee } from '#domain/access.ts'
import { ConflictError } from '#shared/errors.ts'
import type { Cart } from '../cart.ts'
import type { CommandBody, CommandCaller, Commands, LockChoice, LockResult } from '../commands/commands.ts'
import type { CartLookup, LockGate } from '../commands/lock-gate.ts'
import type { DeviceTypeLookup } from '../commands/request.ts'
import { lockDeviceOf } from './lock-device.ts'
import { mapInSlices } from './map-in-slices.ts'

export interface CartsToLock extends CartLookup {
  /** Sorted in natural order. */
  readonly all: readonly Cart[]
  find(key: string): Cart | undefined
}

interface CartLocksDeps {
  carts: CartsToLock
  commands: Pick<Commands, 'lockCarts'>
  gate: Pick<LockGate, 'refused'>
  deviceTypes: DeviceTypeLookup
}

/** Carts to lock: by name, or all that stand in a parking zone. */
export interface CartLockRequest {
  carts: readonly string[] | 'in'
  metadata: Record<string, unknown> | null
}

/** Locks many carts in the barn with one request. A cart on the course is locked by a command to its device. */
export class CartLocks {
  readonly #deps: CartLocksDeps

  constructor(deps: CartLocksDeps) {
    this.#deps = deps
  }

  /** Throws `no_parking_zone` if no cart visible to the caller has one. */
  lock({ carts, metadata }: CartLockRequest, asking: CommandCaller): Promise<CommandBody<readonly LockResult[]>> {
    const choose = async (caller: Caller) => {
      const seen = this.#deps.carts.all.filter((cart) => seesCart(caller, cart))
      // a parking zone may have been drawn or deleted since the last evaluation
      if (!seen.some((cart) => this.#deps.carts.evaluateNow(cart).zoneContext.hasParking)) {
        const message = 'no cart in your scope has a parking zone; draw one around the barn'
        throw new ConflictError('no_parking_zone', message)
      }
      return carts === 'in' ? this.#inBarn(seen, caller) : this.#named(carts, caller)
    }
    return this.#deps.commands.lockCarts({ carts, metadata }, choose, asking)
  }

  /** Skips carts that are already locked, out of service or no golf carts. */
  async #inBarn(seen: readonly Cart[], caller: Caller): Promise<LockChoice[]> {
    const judged = await mapInSlices(seen, (cart) => this.#deps.carts.evaluateNow(cart))
    return judged
      .filter(
        ({ verdict, notes }) =>
          verdict.isInParking &&
          verdict.lock?.isLocked !== true &&
          notes.outOfService === null &&
          notes.kind === 'golf_cart',
      )
      .map((cart) => lockChoiceOf(cart, caller, this.#deps.deviceTypes))
  }

  async #named(names: readonly string[], caller: Caller): Promise<LockChoice[]> {
    const { carts, gate } = this.#deps
    const known = new Map<string, Cart | undefined>()
    for (const name of names) {
      const cart = carts.find(name) ?? carts.of(name)
      known.set(cart?.key ?? name, cart)
    }
    const choices = await mapInSlices([...known], ([key, cart]): LockChoice => {
      if (cart === undefined) return { cart: key, code: 'cart_not_found' }
      if (!seesCart(caller, cart)) return { cart: key, code: 'cart_forbidden' }
      return lockChoiceOf(carts.evaluateNow(cart), caller, this.#deps.deviceTypes)
    })
    const isOnCourse = (choice: LockChoice) => 'code' in choice && choice.code === 'on_course'
    gate.refused.add('on_course', choices.filter(isOnCourse).length)
    return choices
  }
}

/** Returns the lock of a cart in the barn, or the reason for having none. */
export function lockChoiceOf(cart: Cart, caller: Caller, deviceTypes: Pick<DeviceTypeLookup, 'find'>): LockChoice {
  return cart.verdict.isInParking ? unlockChoiceOf(cart, caller, deviceTypes) : { cart: cart.key, code: 'on_course' }
}

/** Returns the same for a cart anywhere. */
export function unlockChoiceOf(cart: Cart, caller: Caller, deviceTypes: Pick<DeviceTypeLookup, 'find'>): LockChoice {
  const { key } = cart
  const device = lockDeviceOf(cart, deviceTypes, ({ row }) => canSee(caller, row.hardwareId))
  return device === undefined ? { cart: key, code: 'unsupported_command' } : { cart: key, device, judged: cart }
}

function seesCart(caller: Caller, { devices }: Cart): boolean {
  return devices.some(({ row }) => canSee(caller, row.hardwareId))
}
