import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { StoredSubscription } from '#domain/mqtt-sessions.ts'
import { matchesTopic } from '#domain/mqtt-topics.ts'
import { Interest } from './interest.ts'
import { SubscriptionIndex } from './subscription-index.ts'

const level = fc.constantFrom('', 'a', 'b', '$SYS')
const topic = fc.array(level, { minLength: 1, maxLength: 4 }).map((levels) => levels.join('/'))
const filter = fc
  .tuple(fc.array(fc.oneof(level, fc.constant('+')), { minLength: 1, maxLength: 4 }), fc.boolean())
  .map(([levels, isOpen]) => (isOpen ? [...levels, '#'] : levels).join('/'))
  .filter((each) => each !== '')

const steps = fc.array(
  fc.record({ isAdded: fc.boolean(), client: fc.integer({ min: 0, max: 3 }), topicFilter: filter }),
  { maxLength: 40 },
)

function keyOf({ clientId, topicFilter }: { clientId: string; topicFilter: string }): string {
  return `${clientId} ${topicFilter}`
}

test('the index finds what looking at every subscription finds, after any adding and removing', () => {
  fc.assert(
    fc.property(steps, topic, (history, eachTopic) => {
      const index = new SubscriptionIndex()
      const all = new Map<string, StoredSubscription>()
      for (const { isAdded, client, topicFilter } of history) {
        const subscription = { clientId: `${client}`, topicFilter, qos: 1, extra: null }
        const key = keyOf(subscription)
        const known = all.get(key)
        if (isAdded && known === undefined) {
          index.add(subscription)
          all.set(key, subscription)
        } else if (!isAdded && known !== undefined) {
          index.delete(known)
          all.delete(key)
        }
      }
      const expected = [...all.values()].filter(({ topicFilter }) => matchesTopic(topicFilter, eachTopic))
      assert.deepEqual(index.match(eachTopic).map(keyOf).sort(), expected.map(keyOf).sort())
      assert.equal(index.size, all.size)
    }),
    { numRuns: 1000 },
  )
})

test('a topic is wanted when a filter takes it in, and no longer once the last of them is gone', () => {
  fc.assert(
    fc.property(steps, topic, (history, eachTopic) => {
      const interest = new Interest()
      const counts = new Map<string, number>()
      for (const { isAdded, topicFilter } of history) {
        const count = counts.get(topicFilter) ?? 0
        if (isAdded) interest.add(topicFilter)
        else if (count > 0) interest.delete(topicFilter)
        counts.set(topicFilter, Math.max(0, count + (isAdded ? 1 : -1)))
      }
      const wanted = [...counts].some(([each, count]) => count > 0 && matchesTopic(each, eachTopic))
      const wildcards = [...counts].filter(([each, count]) => count > 0 && /[+#]/.test(each)).length
      // many wildcards are not looked at one by one: too much is routed then, never too little
      if (wildcards <= 32) assert.equal(interest.isWanted(eachTopic), wanted)
      else assert.ok(interest.isWanted(eachTopic) || !wanted)
    }),
    { numRuns: 1000 },
  )
})
