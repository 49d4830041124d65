import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { StoredMessage } from '#domain/mqtt-sessions.ts'
import { matchesTopic } from '#domain/mqtt-topics.ts'
import { RetainedMessages } from './retained-messages.ts'

const LIMITS = { messages: 3, bytes: 20 }

const topic = fc.constantFrom('dev/a/st', 'dev/b/st', 'shop/1', 'shop/2', 'shop/3', 'shop/4', 'shop/5')
const filter = fc.constantFrom('#', '+/+', 'dev/+/st', 'dev/#', 'shop/1', 'shop/+', 'nothing')

test('every message that a filter matches is returned once, and limits apply to limited topics only', () => {
  const step = fc.record({ topic, size: fc.nat(12) })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), fc.uniqueArray(filter), (history, filters) => {
      const retained = new RetainedMessages(LIMITS, (each) => each.startsWith('shop'))
      const expected = new Map<string, StoredMessage>()
      for (const { topic: each, size } of history) {
        const message = { topic: each, payload: 'x'.repeat(size), qos: 1, isRetained: true, extra: null }
        const order = [...expected.keys()].filter((known) => known !== each)
        const dropped = retained.set(message)
        expected.delete(each)
        if (size > 0) expected.set(each, message)
        for (const gone of dropped) expected.delete(gone)
        // the oldest is dropped first
        const candidates = [...order, each].filter((known) => known.startsWith('shop'))
        assert.deepEqual(dropped, candidates.slice(0, dropped.length))
        const limited = [...expected.values()].filter((known) => known.topic.startsWith('shop'))
        assert.ok(limited.length <= LIMITS.messages)
        assert.ok(limited.reduce((sum, { payload }) => sum + payload.length, 0) <= LIMITS.bytes)
      }
      assert.equal(retained.size, expected.size)
      const wanted = [...expected.values()].filter((each) =>
        filters.some((eachFilter) => matchesTopic(eachFilter, each.topic)),
      )
      const byTopic = (a: StoredMessage, b: StoredMessage) => (a.topic < b.topic ? -1 : 1)
      assert.deepEqual([...retained.matching(filters)].sort(byTopic), wanted.sort(byTopic))
    }),
    { numRuns: 500 },
  )
})

test('deleting below a prefix leaves adjacent topics alone', () => {
  const retained = new RetainedMessages(LIMITS, () => false)
  for (const each of ['dev/1/st', 'dev/1/a/b', 'dev/10/st', 'dev/1'])
    retained.set({ topic: each, payload: 'x', qos: 1, isRetained: true, extra: null })
  retained.deleteBelow('dev/1/')
  assert.deepEqual([...retained.matching(['#'])].map((message) => message.topic).sort(), ['dev/1', 'dev/10/st'])
})
