import assert from 'node:assert/strict'
import { test } from 'node:test'
import { columnsOf } from './chart-columns.ts'

test('a chart line is interrupted by a signal loss and by missing values', () => {
  const atMs = Float64Array.of(0, 300_000, 600_001, 601_000)
  const values = Float32Array.of(5, 6, 7, Number.NaN)
  assert.deepEqual(columnsOf({ atMs, values }), [
    [0, 300, 300.001, 600.001, 601],
    [5, 6, null, 7, null],
  ])
})

test('an empty series draws no line', () => {
  assert.deepEqual(columnsOf({ atMs: new Float64Array(0), values: new Float32Array(0) }), [[], []])
})
