import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mapInParallel, parseMetrics, sumMetric } from './gateway-api.ts'

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

test('results are in the order of the items and no more than the limit run at once', async () => {
  let running = 0
  let most = 0
  const results = await mapInParallel([30, 1, 20, 1], 2, async (item) => {
    most = Math.max(most, ++running)
    for (let i = 0; i < item; i++) await Promise.resolve()
    running--
    return item
  })
  assert.deepEqual(results, [30, 1, 20, 1])
  assert.equal(most, 2)
})

test('a metric with labels is summed over them, and one that is not there is no zero', () => {
  const text =
    '# HELP sealed_total so many\nsealed_total{stream="gps"} 3\nsealed_total{stream="battery"} 4\nsealed 9\n'
  assert.equal(sumMetric(text, 'sealed_total'), 7)
  assert.equal(sumMetric(text, 'sealed'), 9)
  assert.equal(sumMetric(text, 'seal'), null)
})
