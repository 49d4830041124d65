import { createHistogram, type Histogram } from 'node:perf_hooks'

/** From when a device measured to when the hub had it. */
export interface LagSummary {
  readonly p50Ms: number
  readonly p95Ms: number
  readonly maxMs: number
}

/** How all sites fare. */
export class SitesFigures {
  readonly #lag = createHistogram()
  readonly #recentLag = createHistogram()
  /** GPS and battery records that the hub has. */
  rows = 0
  pushes = 0
  /** Answers that say the site may not, or its data cannot be: 400, 401, 403, 413. */
  refused = 0
  /** Answers that say later: 429, 503. */
  busy = 0
  /** No answer, or none of a hub. */
  failed = 0
  /** Parts that did not begin where the hub was. */
  conflicts = 0
  /** New epochs, as the hub had what the site never sent. */
  forks = 0
  /** Why a site was refused last. */
  lastRefusal = ''

  acked(rows: number, atMs: readonly number[], nowMs: number): void {
    this.rows += rows
    this.pushes += 1
    for (const time of atMs) {
      // a histogram takes no zero, and a device's clock may be ahead
      const lagMs = Math.max(1, Math.round(nowMs - time))
      this.#lag.record(lagMs)
      this.#recentLag.record(lagMs)
    }
  }

  get lag(): LagSummary {
    return summarise(this.#lag)
  }

  /** Since this was asked last. */
  takeRecentLag(): LagSummary {
    const recent = summarise(this.#recentLag)
    this.#recentLag.reset()
    return recent
  }
}

function summarise(histogram: Histogram): LagSummary {
  return { p50Ms: histogram.percentile(50), p95Ms: histogram.percentile(95), maxMs: histogram.max }
}

export function lagText({ p50Ms, p95Ms, maxMs }: LagSummary): string {
  const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`
  return `lag p50 ${seconds(p50Ms)}  p95 ${seconds(p95Ms)}  max ${seconds(maxMs)}`
}
