/** Local day by its date; `untilMs` is the first instant after it. */
export interface ReportDay {
  readonly date: string
  readonly fromMs: number
  readonly untilMs: number
}

/** Sums milliseconds per day; days are contiguous. */
export class DaySums {
  readonly ms: Float64Array
  readonly #days: readonly ReportDay[]
  #day = 0

  constructor(days: readonly ReportDay[]) {
    this.#days = days
    this.ms = new Float64Array(days.length)
  }

  /** Times must not precede the day that was added to last. */
  add(fromMs: number, untilMs: number): void {
    for (let atMs = fromMs; atMs < untilMs; ) {
      while ((this.#days[this.#day]?.untilMs ?? Number.POSITIVE_INFINITY) <= atMs) this.#day++
      const day = this.#days[this.#day]
      if (day === undefined) return
      const endMs = Math.min(untilMs, day.untilMs)
      this.ms[this.#day] = (this.ms[this.#day] ?? 0) + endMs - Math.max(atMs, day.fromMs)
      atMs = endMs
    }
  }
}
