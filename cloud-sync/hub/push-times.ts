import type { MonotonicClock } from '#shared/time.ts'

/** Upper bounds in seconds. */
const BUCKETS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

/** Durations of stored pushes: a histogram for Prometheus. */
export class PushTimes {
  readonly #clock: MonotonicClock
  readonly #counts = BUCKETS.map((s) => ({ s, count: 0 }))
  #count = 0
  #sumS = 0

  constructor(clock: MonotonicClock) {
    this.#clock = clock
  }

  async measure<Result>(work: () => Promise<Result>): Promise<Result> {
    const startMs = this.#clock.monotonicMs()
    const result = await work()
    const s = (this.#clock.monotonicMs() - startMs) / 1000
    this.#count++
    this.#sumS += s
    for (const bucket of this.#counts) if (s <= bucket.s) bucket.count++
    return result
  }

  lines(name: string): string[] {
    return [
      ...this.#counts.map(({ s, count }) => `${name}_bucket{le="${s}"} ${count}`),
      `${name}_bucket{le="+Inf"} ${this.#count}`,
      `${name}_sum ${this.#sumS}`,
      `${name}_count ${this.#count}`,
    ]
  }
}
