import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Deadlines } from './deadlines.ts'

test('due items are returned in order, up to the requested number', () => {
  const deadlines = new Deadlines<string>()
  for (const [item, atMs] of Object.entries({ c: 30, a: 10, d: 40, b: 20 })) deadlines.set(item, atMs)
  assert.equal(deadlines.nextMs, 10)
  assert.deepEqual(deadlines.takeDue(9, 10), [])
  assert.deepEqual(deadlines.takeDue(30, 2), ['a', 'b'])
  assert.deepEqual(deadlines.takeDue(30, 2), ['c'])
  assert.deepEqual([deadlines.nextMs, deadlines.size], [40, 1])
})

test('after any changes the remaining items are returned by their last time', () => {
  const changes = fc.array(
    fc.record({ item: fc.integer({ min: 0, max: 20 }), atMs: fc.option(fc.integer({ min: 0, max: 50 })) }),
  )
  fc.assert(
    fc.property(changes, (drawn) => {
      const deadlines = new Deadlines<number>()
      const expected = new Map<number, number>()
      for (const { item, atMs } of drawn) {
        if (atMs === null) {
          deadlines.delete(item)
          expected.delete(item)
        } else {
          deadlines.set(item, atMs)
          expected.set(item, atMs)
        }
        assert.equal(deadlines.size, expected.size)
        assert.equal(deadlines.nextMs ?? Number.POSITIVE_INFINITY, Math.min(...expected.values()))
      }
      const taken = deadlines.takeDue(100, 100)
      assert.deepEqual(
        taken.map((item) => expected.get(item)),
        [...expected.values()].sort((a, b) => a - b),
      )
      assert.equal(new Set(taken).size, expected.size)
    }),
  )
})
