import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseMetrics } from './gateway-api.ts'

test('metrics are read, comments are not', () => {
  const metrics = parseMetrics(['# HELP a_b x', 'a_b 0.0105', 'c{d="e f"} 4', 'f 2e-3', ''])
  assert.deepEqual(
    [...metrics],
    [
      ['a_b', 0.0105],
      ['c', 4],
      ['f', 0.002],
    ],
  )
})

test('a metric with labels is summed over them, and a missing one is not zero', () => {
  const metrics = parseMetrics([
    '# HELP sealed_total so many',
    'sealed_total{stream="gps"} 3',
    'sealed_total{stream="battery"} 4',
    'sealed 9',
  ])
  assert.equal(metrics.get('sealed_total'), 7)
  assert.equal(metrics.get('sealed'), 9)
  assert.equal(metrics.get('seal'), undefined)
})
