import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { HISTOGRAM_ERROR, LatencyHistogram } from './latency-histogram.ts'

const MAX_US = 2 ** 31 - 1

function histogramOf(values: readonly number[]): LatencyHistogram {
  const histogram = new LatencyHistogram()
  for (const value of values) histogram.record(value)
  return histogram
}

/** Nearest rank. */
function exactPercentile(values: readonly number[], percent: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.max(1, Math.ceil((percent / 100) * sorted.length)) - 1] ?? 0
}

// Latencies spread over many powers of two, not only over the largest.
const anyLatencyUs = fc
  .tuple(fc.integer({ min: 0, max: MAX_US }), fc.integer({ min: 0, max: 31 }))
  .map(([value, shift]) => value >>> shift)

describe('LatencyHistogram', () => {
  test('a percentile is the exact one or at most a bucket above it', () => {
    const values = fc.array(anyLatencyUs, { minLength: 1, maxLength: 500 })
    const percents = fc.double({ min: 0.1, max: 100, noNaN: true })
    fc.assert(
      fc.property(values, percents, (latencies, percent) => {
        const exact = exactPercentile(latencies, percent)
        const estimate = histogramOf(latencies).percentileUs(percent)
        assert.ok(estimate >= exact, `${estimate} is below ${exact}`)
        assert.ok(estimate <= exact * (1 + HISTOGRAM_ERROR), `${estimate} is too far above ${exact}`)
      }),
      { numRuns: 500 },
    )
  })

  test('count and maximum are exact', () => {
    fc.assert(
      fc.property(fc.array(anyLatencyUs, { minLength: 1 }), (latencies) => {
        const { count, maxMs } = histogramOf(latencies).summary()
        assert.equal(count, latencies.length)
        assert.equal(maxMs, Math.max(...latencies) / 1000)
      }),
    )
  })

  test('values outside the range count as the nearest one in it', () => {
    assert.equal(histogramOf([-5]).percentileUs(50), 0)
    assert.equal(histogramOf([MAX_US * 10]).percentileUs(50), MAX_US)
  })

  test('nothing recorded reads 0', () => {
    assert.deepEqual(histogramOf([]).summary(), { count: 0, p50Ms: 0, p90Ms: 0, p99Ms: 0, maxMs: 0 })
  })
})
