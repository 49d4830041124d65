import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TokenBucket } from './token-bucket.ts'

test('a burst is allowed immediately, then one request at the rate, and debt has to be paid off', () => {
  let nowMs = 0
  const bucket = new TokenBucket({ perSecond: 10, burst: 3 }, { monotonicMs: () => nowMs })
  assert.deepEqual([bucket.take(), bucket.take(), bucket.take(), bucket.take()], [true, true, true, false])
  assert.equal(bucket.waitMs(), 100)
  nowMs = 100
  assert.deepEqual([bucket.take(), bucket.take()], [true, false])
  for (let i = 0; i < 20; i++) bucket.spend()
  assert.equal(bucket.waitMs(), 2_100)
  nowMs = 60_000
  assert.equal(bucket.isFull(), true)
})

test('rate 0 is unlimited', () => {
  const bucket = new TokenBucket({ perSecond: 0, burst: 0 })
  for (let i = 0; i < 1000; i++) bucket.spend()
  assert.equal(bucket.waitMs(), 0)
})
