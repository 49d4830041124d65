import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Outbox } from './outbox.ts'

function outboxOf(count: number, capacity?: number, hasClock = true): Outbox {
  const outbox = new Outbox(() => ({ isEnvelope: false, hasClock, boot: 1, bootedAtMs: 0 }), capacity)
  for (let i = 1; i <= count; i++) outbox.add({ atMs: i * 1000, fields: { speed: i } })
  return outbox
}

test('one sample goes out as it is', () => {
  const outbox = outboxOf(1)
  assert.equal(outbox.take(1000), '{"ts":1000,"speed":1}')
  assert.equal(outbox.take(1000), undefined)
})

test('what waited goes out completely, once and in order', () => {
  const outbox = outboxOf(1234)
  const times: number[] = []
  for (let message = outbox.take(0); message !== undefined; message = outbox.take(0)) {
    const batch: { ts: number }[] = JSON.parse(message)
    times.push(...batch.map((sample) => sample.ts))
  }
  assert.deepEqual(
    times,
    Array.from({ length: 1234 }, (_, i) => (i + 1) * 1000),
  )
  assert.equal(outbox.size, 0)
})

test('a full buffer loses the oldest', () => {
  const outbox = outboxOf(101, 100)
  assert.equal(outbox.size, 96)
  assert.match(outbox.take(0) ?? '', /^\[\{"ts":6000,/)
})

test('without a clock an old sample is dated by its uptime, even alone', () => {
  assert.equal(outboxOf(1, 100, false).take(9000), '{"boot":1,"up":9000,"s":[{"up":1000,"speed":1}]}')
  assert.equal(outboxOf(1, 100, false).take(1100), '{"speed":1}')
})
