import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkDeliveries, checkRetained, grantedQos } from './check.ts'

test('an acknowledged message that did not arrive is missing; an unacknowledged one is not', () => {
  const { missing, expected, examples } = check(1, [1, 3], [3, 4])
  assert.deepEqual({ missing, expected }, { missing: 1, expected: 2 })
  assert.deepEqual(examples, ['missing: s t/a 1'])
})

test('a message may arrive again at QoS 1, not at QoS 2', () => {
  assert.deepEqual(counts(check(1, [1, 2], [1, 2, 1])), { twice: 0, repeated: 1, outOfOrder: 0 })
  assert.deepEqual(counts(check(2, [1, 2], [1, 2, 1])), { twice: 1, repeated: 0, outOfOrder: 0 })
})

test('a message that first arrives after a younger one is out of order', () => {
  assert.equal(check(1, [1, 2, 3], [1, 3, 2]).outOfOrder, 1)
  assert.equal(check(1, [1, 2, 3], [1, 2, 1, 2, 3]).outOfOrder, 0)
})

test('a subscriber must get the messages that its filters match', () => {
  assert.equal(grantedQos({ 't/+': 1, 't/#': 2 }, 't/a'), 2)
  assert.equal(grantedQos({ 't/+/b': 1 }, 't/a'), null)
  assert.equal(grantedQos({ 't/a': 0 }, 't/a'), 0)
  assert.equal(grantedQos({ '+': 1 }, 't/a'), null)
})

test('the retained message is the newest acknowledged one or a later one', () => {
  const faults = (n: number) => checkRetained(new Map([['t', 5]]), new Map([['t', 7]]), new Map([['t', n]])).length
  assert.deepEqual([4, 5, 7, 8].map(faults), [1, 0, 0, 1])
  assert.equal(checkRetained(new Map([['t', 5]]), new Map(), new Map()).length, 1)
})

function check(qos: 1 | 2, acknowledged: number[], received: number[]) {
  const journal = { publishQos: qos, isRetained: false, newest: 9, acknowledged: new Set(acknowledged) }
  const subscriptions = { 't/#': 2 as const }
  const subscriber = { name: 's', subscriptions, received: new Map([['t/a', received]]) }
  return checkDeliveries(new Map([['t/a', journal]]), [subscriber])
}

function counts({ twice, repeated, outOfOrder }: ReturnType<typeof check>) {
  return { twice, repeated, outOfOrder }
}
