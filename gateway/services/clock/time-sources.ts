import { MINUTE_MS } from '#shared/time.ts'

const AGREES_MS = 2 * MINUTE_MS
const STEADY_MS = 2 * MINUTE_MS
const WITNESSES = 2

/**
 * Devices that say the same time as the system clock. What a device sends late may say so by accident, once; a device
 * that still says so two minutes later, and nothing later than that meanwhile, has a clock, and two of them and the
 * system clock are not wrong in the same way.
 */
export class TimeSources {
  /** Since when each has agreed, by the monotonic clock. */
  readonly #agreesSinceMs = new Map<string, number>()
  readonly #steady = new Set<string>()

  /** Takes what a device said. Returns whether the system clock is confirmed. */
  heard(hardwareId: string, atMs: number, systemMs: number, monotonicMs: number): boolean {
    if (atMs > systemMs + AGREES_MS) {
      this.#agreesSinceMs.delete(hardwareId)
      this.#steady.delete(hardwareId)
    } else if (atMs >= systemMs - AGREES_MS) {
      const sinceMs = this.#agreesSinceMs.get(hardwareId) ?? monotonicMs
      this.#agreesSinceMs.set(hardwareId, sinceMs)
      if (monotonicMs - sinceMs >= STEADY_MS) this.#steady.add(hardwareId)
    }
    return this.#steady.size >= WITNESSES
  }

  forget(): void {
    this.#agreesSinceMs.clear()
    this.#steady.clear()
  }
}
