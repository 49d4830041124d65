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

/** Carts, as far as the rule of safe locks needs them. */
export interface CartLookup {
  of(hardwareId: string): Cart | undefined
  evaluateNow(cart: Cart): Cart
}

interface LockGateDeps {
  carts: CartLookup
  fleet: Pick<Fleet, 'byHardwareId'>
  site: Pick<Site, 'settings'>
  clock: Clock
}

/** Reason for refusing a lock, at the request or at the time of sending. */
export type LockRefusal = 'cart_is_moving' | 'admin_required'

/** Permission to store a lock, with the checks it overrides; or the reason for its refusal. */
export type LockAdmission = { forced: CommandRow['forced'] } | { refusal: LockRefusal }

/** Evaluates locks by the position and speed of their carts, at the request and again when they are sent. */
export class LockGate {
  /** Locks that were not sent, by reason. */
  readonly refused = new Counter(['cart_is_moving', 'admin_required', 'position_unknown', 'on_course'])
  readonly #deps: LockGateDeps

  constructor(deps: LockGateDeps) {
    this.#deps = deps
  }

  /** Decides on a lock; `judged` is the device's cart if it has just been evaluated. */
  judge(hardwareId: string, judged = this.#judgedNow(hardwareId)): LockDecision {
    // a device registered this moment has no known position
    if (judged === undefined) return 'send'
    const { site, clock } = this.#deps
    const { verdict, zoneContext } = judged
    const { hasParking } = zoneContext
    return decideLock(verdict, { hasParking, isOnline: this.isOnline(hardwareId) }, site.settings, clock.nowMs())
  }

  isOnline(hardwareId: string): boolean {
    return this.#deps.fleet.byHardwareId(hardwareId)?.isOnline ?? false
  }

  /** Returns devices that may know the cart's position: the device itself, then others of its cart that are online. */
  locatorsOf(hardwareId: string): readonly Device[] {
    const { carts, fleet } = this.#deps
    const own = fleet.byHardwareId(hardwareId)
    const others = carts.of(hardwareId)?.devices.filter((device) => device !== own && device.isOnline) ?? []
    return own === undefined ? others : [own, ...others]
  }

  /**
   * Decides whether a lock may be created now. Force by an admin overrides everything, also when the lock is sent
   * later; force by staff overrides only an outdated position.
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

/** Throws `admin_required` if a caller without staff rights uses force, for any command and before any lookup. */
export function requireMayForce(caller: Caller, force: unknown): void {
  if (force === true && !isStaff(caller))
    throw new ForbiddenError('admin_required', 'force needs the rights of an admin')
}

export function lockRefused(refusal: LockRefusal, hardwareId: string): AppError {
  return refusal === 'cart_is_moving'
    ? new ConflictError('cart_is_moving', `the cart of ${hardwareId} is moving`)
    : new ForbiddenError('admin_required', `the cart of ${hardwareId} is moving: only an admin may force the lock`)
}

export function isLock({ command }: Pick<CommandRow, 'command'>): boolean {
  return command === LOCK
}
