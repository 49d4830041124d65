import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readMetric } from './metric-text.ts'

const TEXT = `# HELP a_bytes What it uses.
# TYPE a_bytes gauge
a_bytes 1.5e+3
a_bytes_more 7
days{of="events"} 400
broken NaN
`

test('a value is found by the whole name, with its labels', () => {
  assert.equal(readMetric(TEXT, 'a_bytes'), 1500)
  assert.equal(readMetric(TEXT, 'days{of="events"}'), 400)
  for (const name of ['a', 'days', 'broken', 'HELP', '']) assert.equal(readMetric(TEXT, name), undefined)
})
