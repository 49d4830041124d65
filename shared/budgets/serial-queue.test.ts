import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SerialQueue } from './serial-queue.ts'

test('tasks run in order, one at a time, and a failure does not block the next', async () => {
  const turns = new SerialQueue()
  const told: string[] = []
  const gate = Promise.withResolvers<void>()
  const first = turns.take(async () => {
    told.push('first begins')
    await gate.promise
    told.push('first ends')
    return 1
  })
  const second = turns.take(async () => {
    told.push('second')
    throw new Error('no')
  })
  const third = turns.take(async () => told.push('third'))
  gate.resolve()
  assert.equal(await first, 1)
  await assert.rejects(second, /no/)
  await third
  await turns.idle()
  assert.deepEqual(told, ['first begins', 'first ends', 'second', 'third'])
})
