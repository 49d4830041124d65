import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseMetrics, sumMetric } from './gateway-api.ts'

test('metrics without labels are read, comments and labelled ones are not', () => {
  const metrics = parseMetrics('# HELP a_b x\na_b 0.0105\nc{d="e"} 4\nf 2e-3\n')
  assert.deepEqual(
    [...metrics],
    [
      ['a_b', 0.0105],
      ['f', 0.002],
    ],
  )
})

test('a metric with labels is summed over them, and one that is not there is no zero', () => {
  const text =
    '# HELP sealed_total so many\nsealed_total{stream="gps"} 3\nsealed_total{stream="battery"} 4\nsealed 9\n'
  assert.equal(sumMetric(text, 'sealed_total'), 7)
  assert.equal(sumMetric(text, 'sealed'), 9)
  assert.equal(sumMetric(text, 'seal'), null)
})
