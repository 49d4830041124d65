import type { Histogram, RecordableHistogram } from 'node:perf_hooks'

/** What a histogram of latencies says, in milliseconds; all 0 when nothing was recorded. */
export interface LatencySummary {
  count: number
  p50Ms: number
  p90Ms: number
  p99Ms: number
  maxMs: number
}

/** Records a latency in whole microseconds. */
export function recordMs(histogram: RecordableHistogram, latencyMs: number): void {
  // the least that a histogram of perf_hooks takes is 1
  histogram.record(Math.max(1, Math.round(latencyMs * 1000)))
}

/** Sums up what `recordMs` recorded: the count is exact, each latency at most a thousandth above the exact one. */
export function summarise(histogram: Histogram): LatencySummary {
  return {
    count: histogram.count,
    p50Ms: histogram.percentile(50) / 1000,
    p90Ms: histogram.percentile(90) / 1000,
    p99Ms: histogram.percentile(99) / 1000,
    maxMs: histogram.max / 1000,
  }
}
