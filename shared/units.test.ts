import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fromUnits, type Measure, toUnits } from './units.ts'

const MEASURES: readonly Measure[] = ['speed', 'length', 'acceleration']

test('a length entered in miles, yards or feet is stored in metres and displayed as entered', () => {
  assert.equal(fromUnits(10, 'speed', 'imperial'), 16.093)
  assert.equal(fromUnits(100, 'length', 'imperial'), 91.44)
  for (const measure of MEASURES)
    for (let tenths = 0; tenths <= 3_000; tenths++) {
      const typed = tenths / 10
      assert.equal(toUnits(fromUnits(typed, measure, 'imperial'), measure, 'imperial'), typed, measure)
    }
})

test('metric values stay unchanged', () => {
  for (const measure of MEASURES) {
    assert.equal(fromUnits(0.123_456, measure, 'metric'), 0.123_456)
    assert.equal(toUnits(0.123_456, measure, 'metric'), 0.123_456)
  }
})
