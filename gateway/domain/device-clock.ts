import { MINUTE_MS } from '#shared/time.ts'

/** Largest offset of a right clock; above `WRONG_MS` a clock is wrong. */
const RIGHT_MS = MINUTE_MS
export const WRONG_MS = 2 * MINUTE_MS
/** Number of consecutive messages that prove a clock wrong; fewer prove it right, which a replay passes once. */
const MESSAGES_WRONG = 10
const MESSAGES_RIGHT = 3
/** Interval within which messages count as one, because a device that replays sends many. */
const APART_MS = 750
/** Largest difference between equal offsets: times in a replay advance faster than messages and soon differ more. */
const SAME_MS = 3000
/** Longest transit of a message, and largest drift of a wrong clock between two messages. */
const AGREES_MS = 10_000

/** Clock of the gateway by which those of devices are measured. */
export interface GatewayTime {
  readonly isConfirmed: boolean
  monotonicMs(): number
}

/**
 * State of a device's clock, derived from its messages. If they lag or lead by the same amount again and again, they
 * were not buffered and sent later: the clock is wrong. Constant in memory and time.
 */
export class DeviceClock {
  /** Offset from the gateway's clock, negative if behind; null while they agree or it is unknown. */
  offMs: number | null = null
  /** True if `offMs` was measured by a confirmed clock of the gateway: an unconfirmed one may be the wrong one. */
  #isProven = false
  /** True once it was found right or wrong since the start. */
  isKnown = false
  /** Offset of consecutive messages, their number, and the arrival of the last (monotonic). */
  #sameMs = 0
  #count = 0
  #countedAtMs = 0

  /** True if the clock of the device is wrong, and not perhaps that of the gateway. */
  get isWrong(): boolean {
    return this.offMs !== null && this.#isProven
  }

  /** Offset of a wrong clock in whole seconds; null for others. */
  get offS(): number | null {
    return this.isWrong ? Math.round((this.offMs ?? 0) / 1000) : null
  }

  /** Restores the offset of a wrong clock from before a restart. */
  restore(offMs: number): void {
    this.offMs = offMs
    this.#isProven = true
  }

  /** True if a message with such a time adds no information: it is right, and so was the last. */
  isAsBefore(aheadMs: number): boolean {
    return this.offMs === null && this.isKnown && this.#count === 0 && Math.abs(aheadMs) <= RIGHT_MS
  }

  /**
   * Processes the offset of the newest time in a message from its receipt; `isSingle` means that the message held one
   * reading and came alone. Returns true if the known state of the clock changed.
   */
  received(aheadMs: number, isSingle: boolean, gateway: GatewayTime): boolean {
    const isRight = Math.abs(aheadMs) <= RIGHT_MS
    const isNews = isRight && !this.isKnown
    if (isRight) this.isKnown = true
    const isAsKnown = this.offMs === null ? isRight : Math.abs(aheadMs - this.offMs) <= AGREES_MS
    if (isAsKnown) {
      this.#count = 0
      // the clock may run slow or fast
      if (this.offMs === null || !isSingle) return isNews
      this.offMs = aheadMs
      if (this.#isProven || !gateway.isConfirmed) return isNews
      this.#isProven = true
      return true
    }
    if (!isRight && (!isSingle || Math.abs(aheadMs) <= WRONG_MS)) return isNews
    this.#countSame(aheadMs, gateway.monotonicMs())
    if (this.#count < (isRight ? MESSAGES_RIGHT : MESSAGES_WRONG)) return isNews
    this.offMs = isRight ? null : aheadMs
    this.#isProven = gateway.isConfirmed
    this.isKnown = true
    this.#count = 0
    return true
  }

  /**
   * True if a message with this offset reports the present. A response to `locate` does if its offset is that of the
   * message before it, since a device that replays would have moved on. If the clock was found right, a slow replay is
   * more likely, and a lock must not rely on a past position.
   */
  reportsPresent(aheadMs: number, isAnswer: boolean): boolean {
    if (this.offMs !== null && Math.abs(aheadMs - this.offMs) <= AGREES_MS) return true
    return isAnswer && this.#count > 1 && !(this.isKnown && this.offMs === null)
  }

  #countSame(aheadMs: number, nowMs: number): void {
    if (this.#count === 0 || Math.abs(aheadMs - this.#sameMs) > SAME_MS) {
      this.#sameMs = aheadMs
      this.#count = 0
    } else if (nowMs - this.#countedAtMs < APART_MS) return
    this.#count++
    this.#countedAtMs = nowMs
  }
}
