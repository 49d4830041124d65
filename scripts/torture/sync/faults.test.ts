import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chooseFaults } from './faults.ts'

const PUSH = 'POST /sync/v1/push HTTP/1.1'

function take(count: number, ...labels: readonly (string | number)[]) {
  const plan = chooseFaults(0.5, ...labels)
  return Array.from({ length: count }, () => [plan.refuses(), plan.next(PUSH)] as const)
}

test('the same seed gives the same faults, another seed gives others', () => {
  assert.deepEqual(take(200, 1, 'cycle', 2), take(200, 1, 'cycle', 2))
  assert.notDeepEqual(take(200, 1, 'cycle', 2), take(200, 1, 'cycle', 3))
})

test('every kind of fault comes, and about as many as asked for', () => {
  const faults = take(2000, 7).map(([, fault]) => fault.kind)
  const kinds = new Set(faults)
  for (const kind of ['cut before', 'cut in request', 'cut before answer', 'cut in answer'] as const)
    assert.ok(kinds.has(kind), kind)
  for (const kind of ['delay', 'twice', 'again', 'late', 'answer', 'none'] as const) assert.ok(kinds.has(kind), kind)
  const met = faults.filter((kind) => kind !== 'none').length
  assert.ok(met > 900 && met < 1100, `${met} of 2000`)
})

test('nothing but a push is too large', () => {
  const plan = chooseFaults(1, 'large')
  const statuses = Array.from({ length: 500 }, () => plan.next('POST /sync/v1/hello HTTP/1.1'))
  assert.ok(statuses.every((fault) => fault.kind !== 'answer' || fault.status !== 413))
})
