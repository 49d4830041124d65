import assert from 'node:assert/strict'
import { test } from 'node:test'
import { progressLine } from './progress-bar.ts'

test('the line shows share, days, samples, rate and what is left', () => {
  assert.equal(
    progressLine({ samples: 120_000, cartDays: 50, cartDaysTotal: 100 }, 60),
    '████████████░░░░░░░░░░░░ 50 %  50/100 cart days  120,000 samples  2,000/s  1:00 left',
  )
})

test('before anything is known nothing is made up', () => {
  assert.match(progressLine({ samples: 0, cartDays: 0, cartDaysTotal: 0 }, 0), / 0 % .* 0\/s {2}--:-- left$/)
})
