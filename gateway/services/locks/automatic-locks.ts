import type { Caller } from '#domain/access.ts'
import { GATEWAY } from '#domain/origin.ts'
import { Counter } from '#shared/counter.ts'
import { describeError } from '#shared/errors.ts'
import type { Log } from '#shared/log.ts'
import type { Clock, MonotonicClock } from '#shared/time.ts'
import type { CommandRow } from '#store/tables/commands.ts'
import type { NamedWrite } from '#store/writer/writes.ts'
import type { AuditContext } from '../audit-context.ts'
import type { Cart } from '../cart.ts'
import type { Commands, LockChoice } from '../commands/commands.ts'
import type { Device } from '../fleet.ts'
import type { CartsToLock } from './cart-locks.ts'
import { mapInSlices } from './map-in-slices.ts'

interface AutomaticLocksDeps {
  carts: CartsToLock
  commands: Pick<Commands, 'lockCarts'>
  origins: Pick<AuditContext, 'run'>
  lockDeviceOf: (cart: Cart) => Device | undefined
  clock: Clock & MonotonicClock
  log: Log
}

export interface AutomaticLock {
  /** Requester that the commands name. */
  by: string
  carts: readonly string[]
  /** True if the cart must still be locked when its command is made. */
  isStillDue: (cart: Cart, nowMs: number) => boolean
  /** Called once the commands are stored. */
  onWritten: (commands: readonly CommandRow[]) => void
  /** Written with the commands, or alone if no cart is left. */
  also?: NamedWrite
}

/** Requester of locks of carts that stood for too long. */
export const ROUND_TIMEOUT = 'round-timeout'
/** Delay before a failed write is tried again. */
const RETRY_MS = 30_000

/** Sends the locks that the gateway decides on; all of one kind in one transaction, one transaction at a time. */
export class AutomaticLocks {
  /** Locks sent, by requester. */
  readonly sent = new Counter(['auto-lock', 'closing', ROUND_TIMEOUT])
  readonly #deps: AutomaticLocksDeps
  readonly #underWay = new Set<string>()
  readonly #notBeforeMs = new Map<string, number>()

  constructor(deps: AutomaticLocksDeps) {
    this.#deps = deps
  }

  /** True if locks of this kind may be requested: none are in progress, and the last ones did not fail recently. */
  isReady(by: string): boolean {
    return (
      !this.#underWay.has(by) &&
      this.#deps.clock.monotonicMs() >= (this.#notBeforeMs.get(by) ?? Number.NEGATIVE_INFINITY)
    )
  }

  /** Does nothing while `isReady` is false; the caller asks again at the next tick. */
  lock(wanted: AutomaticLock): void {
    const { by } = wanted
    if (!this.isReady(by)) return
    const { origins, clock, log } = this.#deps
    this.#underWay.add(by)
    // the tick may run within the context of a user's request
    void origins
      .run(GATEWAY, () => this.#send(wanted))
      .catch((error: unknown) => {
        this.#notBeforeMs.set(by, clock.monotonicMs() + RETRY_MS)
        log.error({ by, carts: wanted.carts.length, reason: describeError(error) }, 'automatic lock failed; will retry')
      })
      .finally(() => this.#underWay.delete(by))
  }

  async #send({ by, carts, isStillDue, onWritten: onDone, also }: AutomaticLock): Promise<void> {
    const caller: Caller = { userId: by, role: 'admin', allowedHardwareIds: null }
    const onWritten = (commands: readonly CommandRow[]) => {
      onDone(commands)
      this.sent.add(by, commands.length)
      if (commands.length > 0) this.#deps.log.info({ by, carts: commands.length }, 'locked carts automatically')
    }
    const choose = async () => (await mapInSlices(carts, (key) => this.#choiceOf(key, isStillDue))).flat()
    const asking = { caller, onWritten, ...(also === undefined ? {} : { also: () => also }) }
    await this.#deps.commands.lockCarts({ carts, metadata: null }, choose, asking)
  }

  #choiceOf(key: string, isStillDue: AutomaticLock['isStillDue']): LockChoice[] {
    const { carts, lockDeviceOf, clock } = this.#deps
    const known = carts.find(key)
    if (known === undefined) return []
    const cart = carts.evaluateNow(known)
    const device = isStillDue(cart, clock.nowMs()) ? lockDeviceOf(cart) : undefined
    return device === undefined ? [] : [{ cart: key, device, judged: cart }]
  }
}
