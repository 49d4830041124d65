import type { CartCall } from '#domain/cart-call.ts'
import { MINUTE_MS, type MonotonicClock } from '#shared/time.ts'
import type { Device } from '../fleet.ts'

/** Maximum number of calls of a device in a minute; a stuck button or a playing child must not hide other alerts. */
const CALLS_PER_MINUTE = 6

/** Limits the calls of each device; never drops the first call for help. */
export class CallLimit {
  readonly #clock: MonotonicClock
  /** Calls of the last minute. */
  readonly #recent = new WeakMap<Device, { call: CartCall['call']; monotonicMs: number }[]>()

  constructor(clock: MonotonicClock) {
    this.#clock = clock
  }

  admits(device: Device, { call }: CartCall): boolean {
    const monotonicMs = this.#clock.monotonicMs()
    const recent = (this.#recent.get(device) ?? []).filter((one) => monotonicMs - one.monotonicMs < MINUTE_MS)
    const isFirstHelp = call === 'help' && !recent.some((one) => one.call === 'help')
    const isAdmitted = recent.length < CALLS_PER_MINUTE || isFirstHelp
    this.#recent.set(device, isAdmitted ? [...recent, { call, monotonicMs }] : recent)
    return isAdmitted
  }
}
