import { createHistogram, type Histogram } from 'node:perf_hooks'
import { systemClock } from '#shared/time.ts'

export class SitesFigures {
  /** Milliseconds between the measurement at a device and the acknowledgement by the hub. */
  readonly lag = createHistogram()
  readonly #recentLag = createHistogram()
  /** Number of GPS and battery records that the hub has. */
  rows = 0
  pushes = 0
  /** Number of rows dropped after waiting too long. */
  forgottenRows = 0
  /** Number of new epochs, started because the hub had data that the site never sent. */
  forks = 0

  /** Records that the hub acknowledged rows, and the samples measured at these times. */
  acked(rows: number, samples: readonly { readonly atMs: number }[]): void {
    this.rows += rows
    this.pushes += 1
    for (const { atMs } of samples) {
      // a histogram accepts no zero, and a device's clock may be ahead
      const lagMs = Math.max(1, Math.round(systemClock.nowMs() - atMs))
      this.lag.record(lagMs)
      this.#recentLag.record(lagMs)
    }
  }

  /** Returns the lag since the last call. */
  takeRecentLag(): string {
    const text = lagText(this.#recentLag)
    this.#recentLag.reset()
    return text
  }
}

export function lagText(lag: Histogram): string {
  const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`
  return `lag p50 ${seconds(lag.percentile(50))}  p95 ${seconds(lag.percentile(95))}  max ${seconds(lag.max)}`
}
