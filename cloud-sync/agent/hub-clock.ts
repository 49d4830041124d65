import type { Clock, MonotonicClock } from '#shared/time.ts'

/** In an answer that took longer, the time may be much older than the answer. */
const QUICK_MS = 5_000

/**
 * The clock of the hub, as its answers tell it. Between answers it goes on with the monotonic clock of this machine.
 */
export class HubClock {
  readonly #clock: Clock & MonotonicClock
  /** Its time less the monotonic clock. */
  #aheadMs: number | null = null

  constructor(clock: Clock & MonotonicClock) {
    this.#clock = clock
  }

  /** A request begins; the result is called with the time in its answer, if it has one. */
  ask(): (hubMs: number | null) => void {
    const askedAtMs = this.#clock.monotonicMs()
    return (hubMs) => {
      if (hubMs === null) return
      const tookMs = this.#clock.monotonicMs() - askedAtMs
      const knownMs = this.nowMs
      // it cannot be earlier there than an answer says
      if (tookMs <= QUICK_MS || knownMs === null || hubMs > knownMs) this.#aheadMs = hubMs - this.#clock.monotonicMs()
    }
  }

  /** Null before the first answer. */
  get nowMs(): number | null {
    return this.#aheadMs === null ? null : Math.round(this.#clock.monotonicMs() + this.#aheadMs)
  }

  /** How far the clock of this gateway is ahead of that of the hub, now; null before the first answer. */
  get offsetMs(): number | null {
    const { nowMs } = this
    return nowMs === null ? null : this.#clock.nowMs() - nowMs
  }
}
