import { createHistogram, type Histogram } from 'node:perf_hooks'
import { systemClock } from '#shared/time.ts'

/** How all sites fare. */
export class SitesFigures {
  /** Milliseconds from when a device measured to when the hub had it. */
  readonly lag = createHistogram()
  readonly #recentLag = createHistogram()
  /** GPS and battery records that the hub has. */
  rows = 0
  pushes = 0
  /** Rows that waited for too long. */
  forgottenRows = 0
  /** New epochs, as the hub had what the site never sent. */
  forks = 0

  /** The hub has so many rows more, of samples that were measured then. */
  acked(rows: number, samples: readonly { readonly atMs: number }[]): void {
    this.rows += rows
    this.pushes += 1
    for (const { atMs } of samples) {
      // a histogram takes no zero, and a device's clock may be ahead
      const lagMs = Math.max(1, Math.round(systemClock.nowMs() - atMs))
      this.lag.record(lagMs)
      this.#recentLag.record(lagMs)
    }
  }

  /** The lag since this was asked last. */
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
