import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FairQueue } from './fair-queue.ts'

function queueOf(items: readonly string[]): FairQueue<string> {
  const queue = new FairQueue<string>()
  // the budget key is the letter
  for (const item of items) queue.push(item.charAt(0), item)
  return queue
}

function drained(queue: FairQueue<string>, isPossible: (item: string) => boolean = () => true): string[] {
  const taken: string[] = []
  for (let item = queue.take(isPossible); item !== undefined; item = queue.take(isPossible)) taken.push(item)
  return taken
}

test('budget keys alternate, and the items of each are taken in order', () => {
  const queue = queueOf(['a1', 'a2', 'a3', 'b1', 'c1', 'c2'])
  assert.deepEqual(drained(queue), ['a1', 'b1', 'c1', 'a2', 'c2', 'a3'])
  assert.equal(queue.isEmpty, true)
})

test('a returning budget key is queued after those that wait', () => {
  const queue = queueOf(['a1', 'a2', 'b1'])
  assert.equal(
    queue.take(() => true),
    'a1',
  )
  queue.push('c', 'c1')
  queue.push('b', 'b2')
  assert.deepEqual(drained(queue), ['b1', 'a2', 'c1', 'b2'])
})

test('a budget key whose first item is not yet possible keeps its slot and its order', () => {
  const queue = queueOf(['a1', 'a2', 'b1'])
  assert.deepEqual(
    drained(queue, (item) => item !== 'a1'),
    ['b1'],
  )
  assert.equal(queue.isEmpty, false)
  assert.deepEqual(drained(queue), ['a1', 'a2'])
})

test('a removed item is not taken, and removing it again has no effect', () => {
  const queue = queueOf(['a1', 'a2', 'b1'])
  queue.remove('a', 'a1')
  queue.remove('b', 'b1')
  queue.remove('b', 'b1')
  assert.deepEqual(drained(queue), ['a2'])
  queue.remove('a', 'a2')
  assert.equal(queue.isEmpty, true)
})
