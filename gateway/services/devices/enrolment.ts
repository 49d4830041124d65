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
  /** Undefined: nobody enrols. */
  key: string | undefined
  /** Open at any time, not only for a while. */
  isAlways: boolean
}

/** Why a device with the right key may not enrol now. */
export type EnrolmentRefusal = 'device_removed' | 'enrolment_closed' | 'enrolment_full'

/** Who may enrol now; times are milliseconds since 1970. */
export interface EnrolmentState {
  isKeyConfigured: boolean
  isOpen: boolean
  /** Null while it is closed, and when it never closes. */
  openUntilMs: number | null
  /** Devices that have no password of their own yet. */
  waiting: number
  waitingLimit: number
}

/** Devices without a password of their own: more would be no fleet but an attack. */
const WAITING_LIMIT = 1_000
const MINUTES_AFTER_START = 24 * 60

/** The shared key with which devices register themselves, and when it opens. */
export class Enrolment {
  readonly #deps: EnrolmentDeps
  readonly #keyHash: string | null
  readonly #removed = new Set<string>()
  /** By the monotonic clock: setting the time neither opens nor closes it. */
  #closesAtMs = 0

  constructor(deps: EnrolmentDeps) {
    this.#deps = deps
    this.#keyHash = deps.key === undefined ? null : hashSecret(deps.key)
  }

  /** Comes before the fleet is loaded: it changes devices whose password is the shared key, from an older version. */
  async start(): Promise<void> {
    const { store, log } = this.#deps
    for (const hardwareId of store.read.removedDevices()) this.#removed.add(hardwareId)
    if (this.#keyHash === null) return
    const devices = await store.write('revokeSharedPasswords', { keyHash: this.#keyHash })
    if (devices > 0)
      log.warn({ devices }, 'devices have the shared key as password: each is issued its own when it connects')
    this.#open(MINUTES_AFTER_START)
  }

  /** Whether this is the key as it is configured now. */
  isKey(password: Buffer): boolean {
    return this.#keyHash !== null && hashesEqual(hashSecret(password), this.#keyHash)
  }

  /** Why a device that is not registered may not enrol now; null when it may. */
  refusalOf(hardwareId: string): EnrolmentRefusal | null {
    if (this.#removed.has(hardwareId)) return 'device_removed'
    if (!this.#isOpen()) return 'enrolment_closed'
    return this.#deps.fleet.sharedKeyCount >= WAITING_LIMIT ? 'enrolment_full' : null
  }

  /** Opens it from now on for so many minutes, also where that is sooner than it would have closed. */
  async open(minutes: number): Promise<EnrolmentState> {
    if (this.#keyHash === null) throw new ConflictError('no_enrolment_key', 'the gateway has no CARTBARN_ENROLMENT_KEY')
    await this.#deps.store.write('noteEnrolment', { minutes })
    this.#open(minutes)
    this.#deps.log.info({ minutes }, 'opened the enrolment of devices')
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

  /** An admin took the device off the register: only an admin brings it back. */
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
