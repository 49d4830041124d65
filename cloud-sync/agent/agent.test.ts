import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SyncStatus } from '#shared/sync-status.ts'
import { FakeClock, SetClock } from '#shared/testing/clocks.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { SYNC_STREAMS } from '#shared/wire/replication/replicated.ts'
import { type AgentRig, startRig } from '#sync-testing/agent-rig.ts'
import type { Fault } from '#sync-testing/test-hub.ts'

function assertSame(rig: AgentRig, what = ''): void {
  const { epoch } = rig.source.identity()
  for (const stream of SYNC_STREAMS) {
    const sent = rig.hub.idsOf(epoch, stream)
    const expected = rig.source.rows[stream].map(({ id }) => id)
    assert.deepEqual(sent, expected, `${stream} ${what}`)
  }
  assert.equal(rig.hub.duplicates, 0, `duplicates ${what}`)
}

test('every row arrives once and in order, and is acknowledged', async (t) => {
  const rig = await startRig(t)
  for (const stream of SYNC_STREAMS) rig.source.append(stream, 50)
  await rig.drain()
  assertSame(rig)
  assert.deepEqual([...rig.hub.keys].length, 1)
  await rig.until(() => rig.agent.status.state === 'in_sync', 'in sync')
})

const FAULTS: Fault[] = [
  'cut_before',
  'cut_after',
  'truncate',
  'garble',
  'late',
  'hang',
  { status: 429, headers: { 'retry-after': '3' } },
  { status: 503, headers: { 'retry-after': '2' } },
  { status: 503 },
  { status: 502, body: '<html>Bad gateway</html>' },
  { status: 413 },
  { status: 400, code: 'invalid_body' },
  { status: 401, code: 'invalid_site_key' },
  { status: 409, code: 'unknown_epoch' },
]

for (const seed of [1, 2, 3, 4, 5, 6, 7, 8]) {
  test(`every row arrives once and in order despite random faults (${seed})`, async (t) => {
    const rig = await startRig(t, { seed, timeoutMs: 150 })
    const { random, hub, source } = rig
    const pick = <Item>(items: readonly Item[]) => items[Math.floor(random() * items.length)] as Item
    for (const stream of SYNC_STREAMS) source.append(stream, 20)
    hub.limits = { ...hub.limits, part_bytes: 1024, body_bytes: 4096, parts: 4 }
    hub.faultOf = () => (random() < 0.35 ? pick(FAULTS) : null)
    for (let n = 0; n < 60; n++) {
      source.append(pick(SYNC_STREAMS), Math.floor(random() * 10))
      if (random() < 0.1) hub.release()
      // a process that ends between a request and its response
      if (random() < 0.1) await rig.restart()
      await rig.round(300_000)
    }
    hub.faultOf = () => null
    await rig.drain(600, 300_000)
    hub.release()
    source.append('telemetry', 10)
    await rig.until(() => rig.isDrained, 'drained again', 200, 300_000)
    assertSame(rig, `seed ${seed}`)
    assert.deepEqual([source.calls.fork, source.calls.adopt], [0, 0], 'nothing was mistaken for a loss')
  })
}

test('the agent sends a backlog on its timers when no new rows arrive', async (t) => {
  const rig = await startRig(t, { clock: new SetClock() })
  for (const stream of ['lock_events', 'history'] as const) rig.source.append(stream, 200)
  rig.hub.limits = { ...rig.hub.limits, parts: 2, part_bytes: 1024 }
  await rig.agent.start()
  await eventually(() => rig.isDrained, 'drained')
  await rig.agent.stop()
  assertSame(rig)
})

test('stopping aborts the push in progress, and the next start finds out whether it was applied', async (t) => {
  const rig = await startRig(t, { clock: new SetClock() })
  rig.source.append('lock_events', 5)
  rig.hub.faultOf = (path) => (path === 'push' ? 'late' : null)
  await rig.agent.start()
  await eventually(() => rig.hub.lateCount > 0, 'a push under way')
  await rig.agent.stop()
  rig.hub.release()
  rig.hub.faultOf = () => null
  await rig.restart()
  await rig.agent.start()
  await eventually(() => rig.isDrained, 'drained')
  await rig.agent.stop()
  assertSame(rig)
  assert.equal(rig.source.calls.fork, 0)
})

test('setting the clock by years in either direction does not stop the sync', async (t) => {
  const clock = new FakeClock()
  const rig = await startRig(t, { clock })
  for (const year of [2050, 1990, 2026]) {
    clock.set(Date.UTC(year, 1, 1))
    for (const stream of SYNC_STREAMS) rig.source.append(stream, 3)
    await rig.until(() => rig.isDrained, `drained in ${year}`, 50)
  }
  assertSame(rig)
})

test('waiting rows are counted when the status is requested, and never reported as 0 while they wait', async (t) => {
  const rig = await startRig(t)
  await rig.drain()
  const waiting = (status: SyncStatus) =>
    Object.fromEntries(status.streams.map(({ stream, waitingRows }) => [stream, waitingRows]))
  for (const [round, stream] of (['lock_events', 'notes', 'history', 'telemetry', 'entities'] as const).entries()) {
    rig.source.append(stream, 5)
    assert.equal(waiting(rig.agent.status)[stream], null, `${stream}, which nobody has counted`)
    assert.equal(waiting(await rig.agent.countedStatus())[stream], 5, stream)
    rig.source.append(stream, 2 + round)
    assert.equal(waiting(await rig.agent.countedStatus())[stream], 7 + round, stream)
  }
  rig.source.backlog = () => Promise.reject(new Error('no reader is free'))
  rig.source.append('notes', 1)
  assert.equal(waiting(await rig.agent.countedStatus()).notes, null)
})

test('the sync is in sync only once the backlog is counted and the hub can use its data', async (t) => {
  const rig = await startRig(t)
  await rig.step('link')
  assert.deepEqual(rig.agent.status.state, 'draining')
  assert.match(rig.agent.status.explanation, /is counting what it still has to send/)
  rig.hub.warnings = ['quarantined']
  rig.source.append('notes', 3)
  await rig.until(() => rig.isDrained && rig.agent.status.state === 'quarantined', 'the state')
  assert.match(rig.agent.status.explanation, /damaged or of a version that it does not know/)
  rig.hub.warnings = []
  rig.source.append('notes', 1)
  await rig.until(() => rig.agent.status.state === 'in_sync', 'in sync')
  assert.match(
    rig.agent.status.explanation,
    /^The head office has acknowledged all data except that of the last seconds/,
  )
})
