import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { probe } from './probe.ts'

test('a rejected request is retried, and its latency counts from when it was due', async () => {
  let tries = 0
  const { count, p50Ms } = await probe(2, 1_100, async () => {
    tries++
    if (tries % 2 === 1) throw new Error('refused')
  })
  assert.deepEqual([count, tries], [2, 4])
  assert.ok(p50Ms >= 45, `${p50Ms} ms, with a pause of 50 ms before the second try`)
})

test('a request without a response counts with its waiting time, and so do requests queued after it', async () => {
  const never = async (signal: AbortSignal) => {
    await once(signal, 'abort')
    throw new Error('too late')
  }
  const { count, maxMs, p50Ms } = await probe(0.5, 100, never)
  assert.equal(count, 5)
  assert.ok(maxMs >= 499, `${maxMs} ms`)
  assert.ok(p50Ms >= 295 && p50Ms <= 305, `${p50Ms} ms: the third of five was due 300 ms before the end`)
})
