import { type Caller, isAdmin, isStaff } from '#domain/access.ts'
import { LOCK } from '#domain/commands.ts'
import { decideLock, type LockDecision } from '#shared/carts/lock-rule.ts'
import { Counter } from '#shared/counter.ts'
import { type AppError, ConflictError, ForbiddenError } from '#shared/errors.ts'
import type { Clock } from '#shared/time.ts'
import type { CommandRow } from '#store/tables/commands.ts'
import type { Cart } from '../cart.ts'
import type { Device, Fleet } from '../fleet.ts'
import type { Site } from '../site.ts'
import type { CommandRequest } from './request.ts'

/** What the rule of safe locks needs to know of carts. */
export interface CartLookup {
  /** The cart a device is in. */
  of(hardwareId: string): Cart | undefined
  /** The same cart, judged now. */
  evaluateNow(cart: Cart): Cart
}

interface LockGateDeps {
  carts: CartLookup
  fleet: Pick<Fleet, 'byHardwareId'>
  site: Pick<Site, 'settings'>
  clock: Clock
}

/** Why a lock is refused: at once, or when it comes to be sent. */
export type LockRefusal = 'cart_is_moving' | 'admin_required'

/** A lock that may be written down, with what it overrides; or why it may not. */
export type LockAdmission = { forced: CommandRow['forced'] } | { refusal: LockRefusal }

/** Judges locks by where their carts are and how fast, when they are asked for and again when they are sent. */
export class LockGate {
  /** Locks that were not sent, by why. */
  readonly refused = new Counter(['cart_is_moving', 'admin_required', 'position_unknown', 'on_course'])
  readonly #deps: LockGateDeps

  constructor(deps: LockGateDeps) {
    this.#deps = deps
  }

  /** `judged` is the cart of the device, if that was judged this moment already. */
  judge(hardwareId: string, judged = this.#judgedNow(hardwareId)): LockDecision {
    // of a device that was registered this moment nobody knows where it is
    if (judged === undefined) return 'send'
    const { site, clock } = this.#deps
    const { verdict, ground } = judged
    const { hasParking } = ground
    return decideLock(verdict, { hasParking, isOnline: this.isOnline(hardwareId) }, site.settings, clock.nowMs())
  }

  isOnline(hardwareId: string): boolean {
    return this.#deps.fleet.byHardwareId(hardwareId)?.isOnline ?? false
  }

  /** Devices that may know where the cart is: the device itself, then the others of its cart that are online. */
  locatorsOf(hardwareId: string): readonly Device[] {
    const { carts, fleet } = this.#deps
    const own = fleet.byHardwareId(hardwareId)
    const others = carts.of(hardwareId)?.devices.filter((device) => device !== own && device.isOnline) ?? []
    return own === undefined ? others : [own, ...others]
  }

  /**
   * Whether this lock may be made now. An admin's force overrides everything, also when it is sent later; that of staff
   * only that the position is old.
   */
  admit(hardwareId: string, { force }: Pick<CommandRequest, 'force'>, caller: Caller, judged?: Cart): LockAdmission {
    if (force === true && isAdmin(caller)) return { forced: 'all' }
    const verdict = this.judge(hardwareId, judged)
    if (verdict === 'locate') return { forced: force === true ? 'locating' : null }
    if (verdict === 'send') return { forced: null }
    const refusal = force === true ? 'admin_required' : 'cart_is_moving'
    this.refused.add(refusal)
    return { refusal }
  }

  #judgedNow(hardwareId: string): Cart | undefined {
    const { carts } = this.#deps
    const cart = carts.of(hardwareId)
    return cart && carts.evaluateNow(cart)
  }
}

/** Throws `admin_required` for a user who forces: whatever it is, and before anything is looked up. */
export function requireMayForce(caller: Caller, force: unknown): void {
  if (force === true && !isStaff(caller))
    throw new ForbiddenError('admin_required', 'force needs the rights of an admin')
}

/** As an error, where one device was asked for. */
export function lockRefused(refusal: LockRefusal, hardwareId: string): AppError {
  return refusal === 'cart_is_moving'
    ? new ConflictError('cart_is_moving', `the cart of ${hardwareId} is moving`)
    : new ForbiddenError('admin_required', `the cart of ${hardwareId} is moving: only an admin may force the lock`)
}

export function isLock({ command }: Pick<CommandRow, 'command'>): boolean {
  return command === LOCK
}
