import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scaleOf } from './scale.ts'

test('the bar is the longest round distance that fits', () => {
  assert.deepEqual(scaleOf(1, 'metric'), { widthPx: 100, label: '100 m' })
  assert.equal(scaleOf(4.4, 'metric').label, '200 m')
  assert.equal(scaleOf(40, 'metric').label, '2 km')
  assert.equal(scaleOf(0.05, 'metric').label, '5 m')
})

test('who measures in miles reads yards below one mile', () => {
  assert.equal(scaleOf(1, 'imperial').label, '100 yd')
  assert.equal(scaleOf(10, 'imperial').label, '1000 yd')
  assert.equal(scaleOf(40, 'imperial').label, '2 mi')
})

test('the bar is never longer than its room', () => {
  for (let metresPerPx = 0.01; metresPerPx < 50_000; metresPerPx *= 1.37)
    for (const units of ['metric', 'imperial'] as const) {
      const { widthPx } = scaleOf(metresPerPx, units)
      assert.ok(widthPx <= 110.001 && widthPx > 20, `${units} ${metresPerPx}: ${widthPx}`)
    }
})
