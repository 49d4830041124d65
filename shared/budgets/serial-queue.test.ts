import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SerialQueue } from './serial-queue.ts'

test('tasks run in order, one at a time, and a failure does not block the next', async () => {
  const turns = new SerialQueue()
  const events: string[] = []
  const gate = Promise.withResolvers<void>()
  const first = turns.take(async () => {
    events.push('first begins')
    await gate.promise
    events.push('first ends')
    return 1
  })
  const second = turns.take(async () => {
    events.push('second')
    throw new Error('no')
  })
  const third = turns.take(async () => events.push('third'))
  gate.resolve()
  assert.equal(await first, 1)
  await assert.rejects(second, /no/)
  await third
  await turns.idle()
  assert.deepEqual(events, ['first begins', 'first ends', 'second', 'third'])
})
