import type { GpsRecords } from '#shared/telemetry/records.ts'
import { type Fix, NO_ZONE_STATE, type WatchState, watch } from '#shared/zones/watch.ts'
import { isFarFrom, type WatchedZones } from '#shared/zones/watched-zones.ts'

/** Receives the steps of a cart that is out: from a fix and its position to the next fix. */
export type TimeOutSink = (fromMs: number, untilMs: number, latE7: number, longE7: number) => void

/**
 * Tracks a cart through its parking zones by the rules of zone events: two consecutive fixes change its state, except
 * that the first fix of all counts immediately. A step between two fixes is out if the cart is out at the second.
 * Without parking zones it always is. Intervals must be passed in chronological order.
 */
export class TimeOut {
  readonly #parking: WatchedZones
  readonly #sink: TimeOutSink
  #state: WatchState = NO_ZONE_STATE
  #last: Fix | null = null
  #isIn = false

  constructor(parking: WatchedZones, sink: TimeOutSink) {
    this.#parking = parking
    this.#sink = sink
  }

  take({ atMs, latE7, longE7 }: GpsRecords): void {
    for (let i = 0; i < atMs.length; i++)
      this.#step({ atMs: atMs[i] ?? 0, latE7: latE7[i] ?? 0, longE7: longE7[i] ?? 0 })
  }

  /** Ends the track; no fix follows until then. */
  end(untilMs: number): void {
    const last = this.#last
    if (last !== null && !this.#isIn && last.atMs < untilMs) this.#sink(last.atMs, untilMs, last.latE7, last.longE7)
    this.#last = null
  }

  #step(fix: Fix): void {
    const last = this.#last
    this.#last = fix
    if (last === null || !this.#isFar(last, fix)) this.#watch(last, fix)
    if (last !== null && !this.#isIn) this.#sink(last.atMs, fix.atMs, last.latE7, last.longE7)
  }

  /** True if no zone state is known and none will result, so that the zones need no evaluation. */
  #isFar(last: Fix, fix: Fix): boolean {
    if (this.#state.zones.length > 0) return false
    return this.#parking.zones.every((_, place) => isFarFrom(this.#parking, place, last, fix))
  }

  #watch(last: Fix | null, fix: Fix): void {
    const before = last === null || this.#state.last === null ? this.#state : { ...this.#state, last }
    this.#state = watch(before, this.#parking, fix).state
    this.#isIn = this.#state.zones.some(({ isInside }) => isInside)
  }
}
