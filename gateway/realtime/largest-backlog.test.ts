import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findExcess } from './largest-backlog.ts'

function readersOf(shares: Record<string, number[]>) {
  return Object.entries(shares).flatMap(([userId, bytes]) => bytes.map((unreadBytes) => ({ userId, unreadBytes })))
}

test('no reader is closed while all together are within the limit', () => {
  assert.deepEqual(findExcess(readersOf({ a: [60], b: [40] }), 100), [])
  assert.deepEqual(findExcess([], 0), [])
})

test('the fullest readers of the budget key with most are closed first, and no more than needed', () => {
  const readers = readersOf({ a: [50], b: [30, 20, 30], c: [1] })
  assert.deepEqual(findExcess(readers, 130), readersOf({ b: [30] }))
  assert.deepEqual(findExcess(readers, 100), readersOf({ b: [30], a: [50] }))
  assert.equal(findExcess(readers, 0).length, 5)
})
