import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FakeClock } from '#shared/testing/clocks.ts'
import { HOUR_MS, MINUTE_MS } from '#shared/time.ts'
import { KernelSync } from './kernel-sync.ts'

function open(answers: (string | null)[]) {
  const clock = new FakeClock()
  let asked = 0
  const sync = new KernelSync(clock, { ask: async () => answers[asked++] ?? null, isSystemd: () => true })
  return { clock, sync, asked: () => asked }
}

for (const answer of ['no\n', '', null, 'yes please']) {
  test(`the kernel clock counts as unsynchronized when the response is ${JSON.stringify(answer)}`, async () => {
    const { sync } = open([answer])
    await sync.check()
    assert.equal(sync.isSynchronized, false)
  })
}

test('a positive response holds for an hour and suppresses queries for half an hour', async () => {
  const { sync, clock, asked } = open(['yes\n', 'no\n'])
  await sync.check()
  assert.equal(sync.isSynchronized, true)
  clock.advance(HOUR_MS / 2 - 1)
  await sync.check()
  assert.equal(asked(), 1)
  clock.advance(1)
  await sync.check()
  assert.deepEqual([asked(), sync.isSynchronized], [2, false])
})

test('a positive response expires after an hour without another one', async () => {
  const { sync, clock } = open(['yes\n'])
  await sync.check()
  clock.advance(HOUR_MS)
  assert.equal(sync.isSynchronized, false)
})

test('setting the clock cancels the response, and the next one counts again', async () => {
  const { sync, clock } = open(['yes\n', 'yes\n'])
  await sync.check()
  clock.set(clock.nowMs() + 2 * MINUTE_MS)
  assert.equal(sync.isSynchronized, false)
  await sync.check()
  assert.equal(sync.isSynchronized, true)
})

test('without systemd no query is sent', async () => {
  const clock = new FakeClock()
  let asked = 0
  const ask = async () => String(asked++)
  const sync = new KernelSync(clock, { ask, isSystemd: () => false })
  await sync.start()
  await sync.stop()
  assert.equal(asked, 0)
})
