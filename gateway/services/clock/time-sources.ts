import { MINUTE_MS } from '#shared/time.ts'

const AGREES_MS = 2 * MINUTE_MS
const STEADY_MS = 2 * MINUTE_MS
const SOURCES_NEEDED = 2

/**
 * Devices that send the same time as the system clock. A late message may agree by accident. A device that still agrees
 * two minutes later, and sent no later time meanwhile, has a clock; two of them are not wrong in the same way.
 */
export class TimeSources {
  /** Start of each device's agreement, by the monotonic clock. */
  readonly #agreesSinceMs = new Map<string, number>()
  readonly #steady = new Set<string>()

  /** Takes a time sent by a device. Returns true if the system clock is confirmed. */
  received(hardwareId: string, atMs: number, systemMs: number, monotonicMs: number): boolean {
    if (atMs > systemMs + AGREES_MS) {
      this.#agreesSinceMs.delete(hardwareId)
      this.#steady.delete(hardwareId)
    } else if (atMs >= systemMs - AGREES_MS) {
      const sinceMs = this.#agreesSinceMs.get(hardwareId) ?? monotonicMs
      this.#agreesSinceMs.set(hardwareId, sinceMs)
      if (monotonicMs - sinceMs >= STEADY_MS) this.#steady.add(hardwareId)
    }
    return this.#steady.size >= SOURCES_NEEDED
  }

  forget(): void {
    this.#agreesSinceMs.clear()
    this.#steady.clear()
  }
}
