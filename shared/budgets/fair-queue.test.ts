import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FairQueue } from './fair-queue.ts'

function queueOf(items: readonly string[]): FairQueue<string> {
  const queue = new FairQueue<string>()
  // the owner is the letter
  for (const item of items) queue.push(item.charAt(0), item)
  return queue
}

function drained(queue: FairQueue<string>, isPossible: (item: string) => boolean = () => true): string[] {
  const taken: string[] = []
  for (let item = queue.take(isPossible); item !== undefined; item = queue.take(isPossible)) taken.push(item)
  return taken
}

test('owners take turns, and of each what came first goes first', () => {
  const queue = queueOf(['a1', 'a2', 'a3', 'b1', 'c1', 'c2'])
  assert.deepEqual(drained(queue), ['a1', 'b1', 'c1', 'a2', 'c2', 'a3'])
  assert.equal(queue.isEmpty, true)
})

test('who comes back is behind those who wait', () => {
  const queue = queueOf(['a1', 'a2', 'b1'])
  assert.equal(
    queue.take(() => true),
    'a1',
  )
  queue.push('c', 'c1')
  queue.push('b', 'b2')
  assert.deepEqual(drained(queue), ['b1', 'a2', 'c1', 'b2'])
})

test('an owner whose first item is not possible now loses no turn, and overtakes not itself', () => {
  const queue = queueOf(['a1', 'a2', 'b1'])
  assert.deepEqual(
    drained(queue, (item) => item !== 'a1'),
    ['b1'],
  )
  assert.equal(queue.isEmpty, false)
  assert.deepEqual(drained(queue), ['a1', 'a2'])
})

test('what is removed is not taken; removing it again does nothing', () => {
  const queue = queueOf(['a1', 'a2', 'b1'])
  queue.remove('a', 'a1')
  queue.remove('b', 'b1')
  queue.remove('b', 'b1')
  assert.deepEqual(drained(queue), ['a2'])
  queue.remove('a', 'a2')
  assert.equal(queue.isEmpty, true)
})
