import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, test } from 'node:test'
import { runsContent, SiteClient } from '#hub/testing/site-client.ts'
import { batteryRun } from '#hub/testing/telemetry.ts'
import { createLog } from '#shared/log.ts'
import type { SyncPart } from '#shared/wire/replication/sync.ts'
import { PartDecoder } from './part-decoder.ts'

const decoder = new PartDecoder(createLog('silent'))
after(() => decoder.stop())

function partOf(devices: number, recordsEach: number): SyncPart {
  const times = Array.from({ length: recordsEach }, (_, i) => 1_780_000_000_000 + i * 1000)
  const runs = Array.from({ length: devices }, (_, n) => batteryRun(`cart-${n}`, times))
  const client = new SiteClient(() => assert.fail('sends nothing'), 'links', '')
  return client.part('telemetry', runsContent(runs), { to: 9 })
}

test('batches are decoded in a thread, while other requests are served', async () => {
  const part = partOf(5, 50_000)
  let turns = 0
  let isDone = false
  const counting = (async () => {
    for (; !isDone; turns++) await new Promise(setImmediate)
  })()
  const [checked] = await decoder.check([part])
  isDone = true
  await counting
  assert.ok(turns > 10, `${turns} turns of the event loop`)
  assert.ok(checked?.content.type === 'runs')
  assert.equal(checked.content.runs.at(-1)?.records.atMs.length, 50_000)
})

test('an invalid batch is reported with its code, an unreadable one with its data', async () => {
  const part = partOf(1, 10)
  await assert.rejects(decoder.check([{ ...part, data: `${part.data}AAAA` }]), { code: 'invalid_data' })
  await assert.rejects(decoder.check([{ ...part, count: 9 }]), { code: 'invalid_hash' })
  const poison = new SiteClient(() => assert.fail(), 'links', '').part(
    'history',
    { data: randomBytes(50), count: 3, encoding: 'blocks-1' },
    { to: 1 },
  )
  const [unreadable] = await decoder.check([poison])
  assert.equal(unreadable?.content.type, 'unreadable')
  assert.equal(unreadable?.data.length, 50)
})

test('the decoder starts another thread after its thread has ended', async () => {
  await decoder.check([partOf(1, 1)])
  await decoder.stop()
  const [checked] = await decoder.check([partOf(1, 2)])
  assert.equal(checked?.content.type, 'runs')
})
