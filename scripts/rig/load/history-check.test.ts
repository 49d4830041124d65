import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareWithHistory } from './history-check.ts'

test('stored samples without an acknowledgement are not a fault', () => {
  const { missing, duplicates } = compareWithHistory('a', [1, 3], [3, 2, 1])
  assert.deepEqual({ missing, duplicates }, { missing: 0, duplicates: 0 })
})

test('an acknowledged sample that is absent is reported as missing, and named', () => {
  const { missing, examples } = compareWithHistory('a', [0, 1000], [0])
  assert.equal(missing, 1)
  assert.deepEqual(examples, ['a 1970-01-01T00:00:01.000Z'])
})

test('a sample that is there three times is two duplicates', () => {
  assert.equal(compareWithHistory('a', [1], [1, 1, 1]).duplicates, 2)
})
