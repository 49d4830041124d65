import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { matchesTopic } from '#domain/mqtt-topics.ts'
import { type IndexedSubscription, SubscriptionIndex } from './subscription-index.ts'

interface Client {
  name: string
  owner: string
}

const CLIENTS: readonly Client[] = ['a', 'b', 'c', 'd'].map((name) => ({
  name,
  // two of them have the same owner
  owner: name < 'c' ? 'one' : name,
}))

const level = fc.constantFrom('', 'a', 'b', '$SYS')
const topic = fc.array(level, { minLength: 1, maxLength: 4 }).map((levels) => levels.join('/'))
const filter = fc
  .tuple(fc.array(fc.oneof(level, fc.constant('+')), { minLength: 1, maxLength: 4 }), fc.boolean())
  .map(([levels, isOpen]) => (isOpen ? [...levels, '#'] : levels).join('/'))
  .filter((each) => each !== '')

const steps = fc.array(
  fc.record({
    isAdded: fc.boolean(),
    holder: fc.constantFrom(...CLIENTS),
    topicFilter: filter,
    qos: fc.nat(2),
  }),
  { maxLength: 40 },
)
const readers = fc.subarray(['one', 'c', 'd'])

test('the index finds what looking at every subscription finds, after any adding and removing', () => {
  fc.assert(
    fc.property(steps, topic, readers, (history, eachTopic, owners) => {
      const index = new SubscriptionIndex<Client>()
      const all = new Map<string, IndexedSubscription<Client>>()
      for (const { isAdded, ...held } of history) {
        const key = `${held.holder.name} ${held.topicFilter}`
        const known = all.get(key)
        if (isAdded && known === undefined) {
          index.add(held)
          all.set(key, held)
        } else if (!isAdded && known !== undefined) {
          index.delete(known)
          all.delete(key)
        }
      }
      const expected = new Map<Client, number>()
      for (const { holder, topicFilter, qos } of all.values()) {
        if (!owners.includes(holder.owner) || !matchesTopic(topicFilter, eachTopic)) continue
        expected.set(holder, Math.max(qos, expected.get(holder) ?? 0))
      }
      const found = index.match(eachTopic, (owner) => owners.includes(owner))
      assert.deepEqual([...found].sort(byName), [...expected].sort(byName))
      assert.equal(index.size, all.size)
      for (const owner of ['one', 'c', 'd']) {
        const own = [...all.values()].filter(({ holder }) => holder.owner === owner)
        assert.equal(index.sizeOf(owner), own.length)
      }
    }),
    { numRuns: 1000 },
  )
})

function byName([one]: [Client, number], [other]: [Client, number]): number {
  return one.name < other.name ? -1 : 1
}

test('asks once whether an owner may read, however many wildcards it has', () => {
  const index = new SubscriptionIndex<Client>()
  const [client] = CLIENTS
  assert.ok(client !== undefined)
  for (let i = 0; i < 100; i++) {
    const holder = { ...client }
    for (const topicFilter of ['#', '+/#', 'dev/+/+']) index.add({ holder, topicFilter, qos: 0 })
  }
  let asked = 0
  const found = index.match('dev/cart-1/tlm', () => {
    asked++
    return false
  })
  assert.deepEqual([found.size, asked], [0, 1])
})
