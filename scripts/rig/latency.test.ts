import assert from 'node:assert/strict'
import { createHistogram } from 'node:perf_hooks'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { type LatencySummary, recordMs, summarise } from './latency.ts'

const LARGEST_ERROR = 1 / 1000
const MAX_US = 2 ** 31 - 1

function summaryOf(latenciesUs: readonly number[]): LatencySummary {
  const histogram = createHistogram()
  for (const latencyUs of latenciesUs) recordMs(histogram, latencyUs / 1000)
  return summarise(histogram)
}

/** Value at the rank nearest to that share of all, as HDR histograms define it. */
function exactPercentile(values: readonly number[], percent: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  const rank = Math.floor((percent / 100) * sorted.length + 0.5)
  return sorted[Math.max(1, rank) - 1] ?? 0
}

// Latencies spread over many powers of two, not only over the largest.
const anyLatencyUs = fc
  .tuple(fc.integer({ min: 1, max: MAX_US }), fc.integer({ min: 0, max: 31 }))
  .map(([value, shift]) => Math.max(1, value >>> shift))

describe('a summary of latencies', () => {
  test('counts exactly; percentiles and maximum are the exact ones or at most a thousandth above', () => {
    fc.assert(
      fc.property(fc.array(anyLatencyUs, { minLength: 1, maxLength: 500 }), (latencies) => {
        const { count, p50Ms, p90Ms, p99Ms, maxMs } = summaryOf(latencies)
        assert.equal(count, latencies.length)
        const estimates = [p50Ms, p90Ms, p99Ms, maxMs].map((ms) => Math.round(ms * 1000))
        for (const [i, percent] of [50, 90, 99, 100].entries()) {
          const exact = exactPercentile(latencies, percent)
          const estimate = estimates[i] ?? 0
          assert.ok(estimate >= exact, `p${percent}: ${estimate} is below ${exact}`)
          assert.ok(estimate <= exact * (1 + LARGEST_ERROR), `p${percent}: ${estimate} is above ${exact}`)
        }
      }),
      { numRuns: 500 },
    )
  })

  test('takes a clock that went back for no latency', () => {
    const { count, maxMs } = summaryOf([-5000, 0])
    assert.deepEqual({ count, maxMs }, { count: 2, maxMs: 0.001 })
  })

  test('of nothing is 0', () => {
    assert.deepEqual(summaryOf([]), { count: 0, p50Ms: 0, p90Ms: 0, p99Ms: 0, maxMs: 0 })
  })
})
