import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Fifo } from './fifo.ts'

test('it does what an array does', () => {
  const step = fc.oneof(
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('push' as const), item: fc.integer() }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('take' as const) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('peek' as const) }) },
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
      const fifo = new Fifo<number>()
      const model: number[] = []
      for (const one of steps) {
        if (one.kind === 'push') {
          fifo.push(one.item)
          model.push(one.item)
        } else if (one.kind === 'take') assert.equal(fifo.take(), model.shift())
        assert.equal(fifo.peek(), model[0])
        assert.equal(fifo.length, model.length)
      }
    }),
  )
})

test('an empty queue stays usable', () => {
  const fifo = new Fifo<string>()
  assert.equal(fifo.take(), undefined)
  assert.equal(fifo.length, 0)
  fifo.push('a')
  assert.equal(fifo.take(), 'a')
  assert.equal(fifo.take(), undefined)
  assert.equal(fifo.length, 0)
})

test('a hundred thousand items go through in order', () => {
  const fifo = new Fifo<number>()
  for (let i = 0; i < 100_000; i++) fifo.push(i)
  for (let i = 0; i < 100_000; i++) assert.equal(fifo.take(), i)
  assert.equal(fifo.length, 0)
})
