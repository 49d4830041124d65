import { LatencyHistogram } from '#scripts/rig/latency-histogram.ts'

/** From when a device measured to when the hub had it. */
export interface LagSummary {
  readonly p50Ms: number
  readonly p95Ms: number
  readonly maxMs: number
}

/** How all sites fare. */
export class SitesFigures {
  readonly #lag = new LatencyHistogram()
  readonly #recentLag = new LatencyHistogram()
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
      this.#lag.record((nowMs - time) * 1000)
      this.#recentLag.record((nowMs - time) * 1000)
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

function summarise(histogram: LatencyHistogram): LagSummary {
  return {
    p50Ms: histogram.percentileUs(50) / 1000,
    p95Ms: histogram.percentileUs(95) / 1000,
    maxMs: histogram.percentileUs(100) / 1000,
  }
}

export function lagText({ p50Ms, p95Ms, maxMs }: LagSummary): string {
  const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`
  return `lag p50 ${seconds(p50Ms)}  p95 ${seconds(p95Ms)}  max ${seconds(maxMs)}`
}
