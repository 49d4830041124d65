import { MINUTE_MS } from '#shared/time.ts'

/** Windows of the averages, in minutes. */
export const LOAD_WINDOWS_MIN = [1, 5, 15] as const

type WindowMin = (typeof LOAD_WINDOWS_MIN)[number]

/** Growth of a counter per minute, averaged exponentially over the last minutes as in Unix and Mosquitto. */
export class LoadAverage {
  readonly #averages: Record<WindowMin, number> = { 1: 0, 5: 0, 15: 0 }
  #count = 0

  /** Adds the current value of the counter. */
  sample(count: number, sinceLastMs: number): void {
    const perMinute = ((count - this.#count) * MINUTE_MS) / Math.max(1, sinceLastMs)
    this.#count = count
    for (const minutes of LOAD_WINDOWS_MIN) {
      const weight = Math.exp(-sinceLastMs / (minutes * MINUTE_MS))
      this.#averages[minutes] = perMinute + weight * (this.#averages[minutes] - perMinute)
    }
  }

  perMinute(windowMin: WindowMin): number {
    return this.#averages[windowMin]
  }
}
