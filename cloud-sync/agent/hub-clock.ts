import type { Clock, MonotonicClock } from '#shared/time.ts'

/** In a response that took longer, the time may be much older than the response. */
const QUICK_MS = 5_000

/** Clock of the hub, as read from its responses; between them it advances with this machine's monotonic clock. */
export class HubClock {
  readonly #clock: Clock & MonotonicClock
  /** Hub time minus monotonic time. */
  #aheadMs: number | null = null

  constructor(clock: Clock & MonotonicClock) {
    this.#clock = clock
  }

  /** Marks the start of a request; the returned function takes the time in its response, if any. */
  ask(): (hubMs: number | null) => void {
    const askedAtMs = this.#clock.monotonicMs()
    return (hubMs) => {
      if (hubMs === null) return
      const tookMs = this.#clock.monotonicMs() - askedAtMs
      const knownMs = this.nowMs
      // the time at the hub cannot be earlier than the one in a response
      if (tookMs <= QUICK_MS || knownMs === null || hubMs > knownMs) this.#aheadMs = hubMs - this.#clock.monotonicMs()
    }
  }

  /** Null before the first response. */
  get nowMs(): number | null {
    return this.#aheadMs === null ? null : Math.round(this.#clock.monotonicMs() + this.#aheadMs)
  }

  /** Milliseconds by which the clock of this gateway is ahead of the hub's; null before the first response. */
  get offsetMs(): number | null {
    const { nowMs } = this
    return nowMs === null ? null : this.#clock.nowMs() - nowMs
  }
}
