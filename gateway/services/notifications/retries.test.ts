import assert from 'node:assert/strict'
import { test } from 'node:test'
import { retryMs } from './retries.ts'

test('waits 1, 2, 4 … 600 seconds', () => {
  const seconds = [1, 2, 3, 4, 9, 10, 11, 12, 1000].map((failures) => retryMs(failures, 0.5) / 1000)
  assert.deepEqual(seconds, [1, 2, 4, 8, 256, 512, 600, 600, 600])
})

test('what may have been delivered is sent again after 1, 4, 16 … 360 minutes: six times a day', () => {
  const minutes = [1, 2, 3, 4, 5, 6, 1000].map((failures) => retryMs(failures, 0.5, true) / 60_000)
  assert.deepEqual(minutes, [1, 4, 16, 64, 256, 360, 360])
})

test('a fifth more or less, so that what failed together comes apart', () => {
  assert.deepEqual([retryMs(1, 0), retryMs(1, 1)], [800, 1200])
})
