/** Round trips longer than this say little of the other clock. */
const GOOD_TRIP_MS = 2_000

/**
 * The time as the gateway has it, whatever the tablet's own clock says: ages are counted by it. While the line is gone
 * it stands still, and with it every age on the screen.
 */
export class GatewayClock {
  readonly #monotonicMs: () => number
  #offsetMs: number | null = null
  #frozenMs: number | null = null

  constructor(monotonicMs: () => number = () => performance.now()) {
    this.#monotonicMs = monotonicMs
  }

  /** Milliseconds since 1970; 0 before the gateway has said it. */
  nowMs(): number {
    if (this.#frozenMs !== null) return this.#frozenMs
    return this.#offsetMs === null ? 0 : Math.round(this.#monotonicMs() + this.#offsetMs)
  }

  /** The gateway said that it is `timeMs`; `tripMs` went by between question and answer, 0 when nobody asked. */
  heard(timeMs: number, tripMs = 0): void {
    const offsetMs = timeMs + tripMs / 2 - this.#monotonicMs()
    const isGoingOn = this.#offsetMs !== null && this.#frozenMs === null
    const changeMs = Math.abs(offsetMs - (this.#offsetMs ?? offsetMs))
    // what the trip may explain is no change of the clock: ages would tremble with the network
    if (isGoingOn && tripMs > 0 && (tripMs > GOOD_TRIP_MS || changeMs <= tripMs / 2)) return
    this.#offsetMs = offsetMs
    this.#frozenMs = null
  }

  freeze(): void {
    this.#frozenMs ??= this.nowMs()
  }
}
