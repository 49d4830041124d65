import type { Histogram, RecordableHistogram } from 'node:perf_hooks'

/** Summary of a histogram of latencies, in milliseconds; all 0 if nothing was recorded. */
export interface LatencySummary {
  count: number
  p50Ms: number
  p90Ms: number
  p99Ms: number
  maxMs: number
}

/** Records a latency in whole microseconds. */
export function recordMs(histogram: RecordableHistogram, latencyMs: number): void {
  // a histogram of perf_hooks accepts no value below 1
  histogram.record(Math.max(1, Math.round(latencyMs * 1000)))
}

/** Summarises records of `recordMs`: the count is exact, each latency at most a thousandth too high. */
export function summarise(histogram: Histogram): LatencySummary {
  return {
    count: histogram.count,
    p50Ms: histogram.percentile(50) / 1000,
    p90Ms: histogram.percentile(90) / 1000,
    p99Ms: histogram.percentile(99) / 1000,
    maxMs: histogram.max / 1000,
  }
}
