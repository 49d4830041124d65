import { ConflictError } from '#shared/errors.ts'
import { hashesEqual, hashSecret } from '#shared/ids.ts'
import type { Log } from '#shared/log.ts'
import { type Clock, MINUTE_MS, type MonotonicClock } from '#shared/time.ts'
import type { Store } from '#store/store.ts'
import type { Fleet } from '../fleet.ts'

interface EnrolmentDeps {
  store: Pick<Store, 'read' | 'write'>
  fleet: Pick<Fleet, 'sharedKeyCount'>
  clock: Clock & MonotonicClock
  log: Log
  /** Undefined if enrolment is disabled. */
  key: string | undefined
  /** True if enrolment is always open. */
  isAlways: boolean
}

/** Reason why a device with the right key may not enrol now. */
export type EnrolmentRefusal = 'device_removed' | 'enrolment_closed' | 'enrolment_full'

/** State of enrolment; times are in ms since 1970. */
export interface EnrolmentState {
  isKeyConfigured: boolean
  isOpen: boolean
  /** Null while it is closed, and if it never closes. */
  openUntilMs: number | null
  /** Number of devices without a password of their own. */
  waiting: number
  waitingLimit: number
}

/** Maximum number of devices without a password of their own; more indicate an attack. */
const WAITING_LIMIT = 1_000
const MINUTES_AFTER_START = 24 * 60

/** Shared key with which devices register themselves, and the period in which it is accepted. */
export class Enrolment {
  readonly #deps: EnrolmentDeps
  readonly #keyHash: string | null
  readonly #removed = new Set<string>()
  /** Monotonic time, so that setting the clock neither opens nor closes it. */
  #closesAtMs = 0

  constructor(deps: EnrolmentDeps) {
    this.#deps = deps
    this.#keyHash = deps.key === undefined ? null : hashSecret(deps.key)
  }

  /** Runs before the fleet is loaded: it changes devices of an older version whose password is the shared key. */
  async start(): Promise<void> {
    const { store, log } = this.#deps
    for (const hardwareId of store.read.removedDevices()) this.#removed.add(hardwareId)
    if (this.#keyHash === null) return
    const devices = await store.write('revokeSharedPasswords', { keyHash: this.#keyHash })
    if (devices > 0)
      log.warn({ devices }, 'devices use the shared key as password; each receives its own when it connects')
    this.#open(MINUTES_AFTER_START)
  }

  /** True if the password is the currently configured key. */
  isKey(password: Buffer): boolean {
    return this.#keyHash !== null && hashesEqual(hashSecret(password), this.#keyHash)
  }

  /** Returns the reason why an unregistered device may not enrol now; null if it may. */
  refusalOf(hardwareId: string): EnrolmentRefusal | null {
    if (this.#removed.has(hardwareId)) return 'device_removed'
    if (!this.#isOpen()) return 'enrolment_closed'
    return this.#deps.fleet.sharedKeyCount >= WAITING_LIMIT ? 'enrolment_full' : null
  }

  /** Opens enrolment for this many minutes from now, even if it would have closed later. Throws `no_enrolment_key`. */
  async open(minutes: number): Promise<EnrolmentState> {
    if (this.#keyHash === null)
      throw new ConflictError('no_enrolment_key', 'the gateway has no enrolment key: set CARTBARN_ENROLMENT_KEY')
    await this.#deps.store.write('noteEnrolment', { minutes })
    this.#open(minutes)
    this.#deps.log.info({ minutes }, 'device enrolment opened')
    return this.state()
  }

  state(): EnrolmentState {
    const { clock, fleet, isAlways } = this.#deps
    const isOpen = this.#isOpen()
    const leftMs = this.#closesAtMs - clock.monotonicMs()
    return {
      isKeyConfigured: this.#keyHash !== null,
      isOpen,
      openUntilMs: isOpen && !isAlways ? Math.round(clock.nowMs() + leftMs) : null,
      waiting: fleet.sharedKeyCount,
      waitingLimit: WAITING_LIMIT,
    }
  }

  /** Blocks a device that an admin has removed; only an admin can register it again. */
  bar(hardwareId: string): void {
    this.#removed.add(hardwareId)
  }

  unbar(hardwareId: string): void {
    this.#removed.delete(hardwareId)
  }

  #isOpen(): boolean {
    const { isAlways, clock } = this.#deps
    return this.#keyHash !== null && (isAlways || clock.monotonicMs() < this.#closesAtMs)
  }

  #open(minutes: number): void {
    this.#closesAtMs = this.#deps.clock.monotonicMs() + minutes * MINUTE_MS
  }
}
