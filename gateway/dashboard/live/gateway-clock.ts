/** Maximum round trip from which the gateway's time can be derived. */
const GOOD_TRIP_MS = 2_000

/**
 * Time of the gateway, independent of the tablet's own clock: ages are computed from it. While the connection is lost
 * it stands still, and with it every age on the screen.
 */
export class GatewayClock {
  readonly #monotonicMs: () => number
  #offsetMs: number | null = null
  #frozenMs: number | null = null

  constructor(monotonicMs: () => number = () => performance.now()) {
    this.#monotonicMs = monotonicMs
  }

  /** Milliseconds since 1970; 0 before the gateway has sent its time. */
  nowMs(): number {
    if (this.#frozenMs !== null) return this.#frozenMs
    return this.#offsetMs === null ? 0 : Math.round(this.#monotonicMs() + this.#offsetMs)
  }

  /** Applies the gateway's time `timeMs`; `tripMs` passed between request and response, 0 without a request. */
  received(timeMs: number, tripMs = 0): void {
    const offsetMs = timeMs + tripMs / 2 - this.#monotonicMs()
    const isGoingOn = this.#offsetMs !== null && this.#frozenMs === null
    const changeMs = Math.abs(offsetMs - (this.#offsetMs ?? offsetMs))
    // a difference that the round trip can explain is ignored: ages would jitter with the network
    if (isGoingOn && tripMs > 0 && (tripMs > GOOD_TRIP_MS || changeMs <= tripMs / 2)) return
    this.#offsetMs = offsetMs
    this.#frozenMs = null
  }

  freeze(): void {
    this.#frozenMs ??= this.nowMs()
  }
}
