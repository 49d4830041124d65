import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MAX_INTENT_SEQ, MAX_REMEMBERED_INTENT_SEQ } from '#shared/wire/replication/replicated.ts'
import type { Intent } from '#shared/wire/replication/sync.ts'
import { startRig } from '#sync-testing/agent-rig.ts'

function intent(seq: number): Intent {
  return {
    intent_id: `i-${seq}`,
    seq,
    kind: 'command.send',
    body: {},
    base_rev: null,
    issued_at_ms: 0,
    expires_at_ms: 1,
  }
}

test('intents arrive in order, each once, also after a restart', async (t) => {
  const rig = await startRig(t)
  await rig.step('link')
  rig.hub.intents = [intent(2), intent(1)]
  await rig.step('intents', 'intents')
  rig.hub.intents.push(intent(3))
  await rig.restart()
  await rig.step('link', 'intents')
  const seqs = rig.inbox.received.map(({ seq }) => seq)
  assert.deepEqual(seqs, [1, 2, 3])
  assert.deepEqual(rig.hub.intentQueries, ['?after=0&wait=50', '?after=2&wait=50', '?after=2&wait=50'])
})

test('an intent that could not be received is fetched again, before the ones after it', async (t) => {
  const rig = await startRig(t)
  await rig.step('link')
  rig.hub.intents = [intent(1), intent(2)]
  const receive = rig.inbox.receive.bind(rig.inbox)
  rig.inbox.receive = async (intent) => {
    rig.inbox.receive = receive
    throw new Error(`no room for ${intent.intent_id}`)
  }
  await rig.step('intents')
  assert.deepEqual(rig.inbox.received, [])
  await rig.step('intents')
  const seqs = rig.inbox.received.map(({ seq }) => seq)
  assert.deepEqual(seqs, [1, 2])
})

test('an intent number that no hub reaches by counting is rejected and leaves no trace', async (t) => {
  const rig = await startRig(t)
  await rig.step('link')
  rig.hub.intents = [intent(Number.MAX_SAFE_INTEGER)]
  await rig.step('intents')
  assert.deepEqual(rig.inbox.received, [])
  assert.equal(rig.agent.failures.get('bad_answer'), 1)
  rig.hub.intents = [intent(1)]
  await rig.step('intents')
  assert.deepEqual(rig.inbox.received, [intent(1)])
})

test('after the highest intent number a hostile hub may send, the agent still receives lower ones', async (t) => {
  const rig = await startRig(t)
  await rig.step('link')
  rig.inbox.lastSeq = () => 0
  rig.hub.intents = [intent(MAX_INTENT_SEQ)]
  await rig.step('intents')
  rig.hub.intents = [intent(MAX_REMEMBERED_INTENT_SEQ + 1)]
  assert.equal(await rig.step('intents'), 1000, 'no loop without a pause')
  assert.equal(rig.inbox.received.length, 2)
  assert.ok(rig.hub.intentQueries.at(-1)?.startsWith(`?after=${MAX_REMEMBERED_INTENT_SEQ}&`))
})

test('behind a proxy with a short timeout the agent requests shorter waits, and the link stays up', async (t) => {
  const rig = await startRig(t)
  await rig.step('link')
  rig.hub.faultOf = (path) => (path === 'intents' ? { status: 504, body: '' } : null)
  for (let n = 0; n < 6; n++) await rig.step('intents')
  rig.hub.faultOf = () => null
  await rig.step('intents')
  assert.deepEqual(rig.hub.intentQueries, ['?after=0&wait=5'])
  assert.equal(rig.agent.failures.get('unavailable'), 6)
  assert.notEqual(rig.agent.status.state, 'waiting')
})

const YEAR_MS = 31_536_000_000

test('an intent has as much time left at the gateway as at the hub, whatever the clocks show', async (t) => {
  for (const isOld of [false, true]) {
    const rig = await startRig(t)
    rig.hub.isOld = isOld
    await rig.step('link')
    for (const [seq, aheadMs] of [
      [1, 2 * YEAR_MS],
      [2, -2 * YEAR_MS],
      [3, 0],
    ] as const) {
      // while connected, so that no other hello follows
      rig.hub.nowMs = () => rig.clock.nowMs() + aheadMs
      rig.hub.intents = [{ ...intent(seq), expires_at_ms: rig.hub.nowMs() + 120_000 }]
      await rig.step('latest', 'intents')
      const leftMs = (rig.inbox.received.at(-1)?.expires_at_ms ?? 0) - rig.clock.nowMs()
      // the header Date has no milliseconds
      assert.ok(Math.abs(leftMs - 120_000) < (isOld ? 1001 : 1), `${leftMs} ms left at ${aheadMs}`)
      rig.clock.advance(30_000)
    }
    assert.equal(rig.hub.hellos.length, 1)
  }
})

test('an intent that travelled for a long time has that much less time left', async (t) => {
  const rig = await startRig(t)
  await rig.step('link')
  rig.hub.intents = [{ ...intent(1), expires_at_ms: rig.clock.nowMs() + 10_000 }]
  const writtenAtMs = rig.clock.nowMs()
  rig.hub.faultOf = (path) => {
    if (path === 'intents') rig.clock.advance(15_000)
    return null
  }
  rig.hub.nowMs = () => writtenAtMs
  await rig.step('intents')
  const leftMs = (rig.inbox.received.at(-1)?.expires_at_ms ?? 0) - rig.clock.nowMs()
  assert.equal(leftMs, -5_000)
})

test('a clock difference is reported from one minute on, until the clocks agree again', async (t) => {
  const rig = await startRig(t)
  await rig.until(() => rig.agent.status.state === 'in_sync', 'up')
  const offset = () => [rig.agent.status.clockOffsetMs, rig.agent.status.warnings]
  assert.deepEqual(offset(), [0, []])
  assert.ok('set' in rig.clock)
  const rightMs = rig.clock.nowMs()
  rig.clock.set(rightMs + 59_999)
  rig.hub.nowMs = () => rig.clock.nowMs() - 59_999
  assert.deepEqual(offset(), [59_999, []])
  rig.hub.nowMs = () => rig.clock.nowMs() - 59_999 + 2 * YEAR_MS
  rig.clock.advance(30_000)
  await rig.step('latest')
  assert.deepEqual(offset(), [59_999 - 2 * YEAR_MS, ['clock']])
  assert.match(rig.agent.status.explanation, /The clock of this gateway is 730 days behind that of the head office/)
  rig.hub.nowMs = () => rig.clock.nowMs()
  rig.clock.advance(30_000)
  await rig.step('latest')
  assert.deepEqual(offset(), [0, []])
})
