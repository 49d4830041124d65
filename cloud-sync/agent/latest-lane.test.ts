import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startRig } from '#sync-testing/agent-rig.ts'

test('when the link comes up, all states are sent first, whatever the backlog', async (t) => {
  const rig = await startRig(t)
  for (let n = 0; n < 50; n++) rig.states.set(`cart-${n}`, { name: `Cart ${n}` })
  rig.source.append('history', 5_000)
  rig.source.append('lock_events', 5_000)
  await rig.round()
  const [first] = rig.hub.latest
  assert.deepEqual([first?.is_complete, first?.devices.length], [true, 50])
  assert.equal(rig.isDrained, false)
})

test('after the first report only changed states are sent, at most once per interval', async (t) => {
  const rig = await startRig(t)
  rig.states.set('cart-1')
  rig.states.set('cart-2')
  await rig.step('link', 'latest')
  rig.states.set('cart-2', { speed: 3 })
  await rig.step('latest')
  assert.equal(rig.hub.latest.length, 1)
  rig.clock.advance(1_000)
  await rig.step('latest')
  assert.deepEqual(rig.hub.latest[1]?.devices, [{ hardware_id: 'cart-2', speed: 3 }])
  assert.equal(rig.hub.latest[1]?.is_complete, false)
  rig.clock.advance(5_000)
  await rig.step('latest')
  assert.equal(rig.hub.latest.length, 2)
})

test('a gateway without changes reports twice a minute, with its backlog', async (t) => {
  const rig = await startRig(t)
  await rig.step('link', 'latest')
  rig.source.append('history', 7)
  await rig.step('monitor')
  rig.clock.advance(30_000)
  await rig.step('latest')
  assert.deepEqual(rig.hub.latest[1]?.devices, [])
  const { acked, ...backlog } = rig.hub.latest[1]?.backlog ?? {}
  assert.deepEqual(backlog, { rows: 7, oldest_ms: 0, unconfirmed_rows: 0 })
  assert.deepEqual(acked?.telemetry, rig.source.cursors().telemetry.seq)
})

test('the agent reports to the hub that acknowledged rows are not yet confirmed', async (t) => {
  const rig = await startRig(t)
  rig.source.append('lock_events', 3)
  await rig.drain()
  await rig.agent.audit()
  await rig.until(() => rig.hub.latest.at(-1)?.backlog.unconfirmed_rows === null, 'the backlog is reported')
  assert.equal(rig.hub.latest.at(-1)?.backlog.acked?.lock_events, rig.source.ends().lock_events)
  await rig.step('monitor', 'audit')
  await rig.until(() => rig.hub.latest.at(-1)?.backlog.unconfirmed_rows === 0, 'the backlog is reported again')
})

test('states that could not be sent are sent when the link is up again', async (t) => {
  const rig = await startRig(t)
  rig.states.set('cart-1')
  await rig.step('link', 'latest')
  rig.clock.advance(1_000)
  rig.states.set('cart-1', { speed: 9 })
  rig.hub.faultOf = () => 'cut_before'
  await rig.step('latest')
  rig.hub.faultOf = () => null
  await rig.until(() => rig.hub.latest.length > 1, 'the backlog is reported')
  assert.deepEqual(rig.hub.latest[1]?.devices, [{ hardware_id: 'cart-1', speed: 9 }])
  assert.equal(rig.hub.latest[1]?.is_complete, true)
})

test('more states than one request holds are sent in several', async (t) => {
  const rig = await startRig(t)
  rig.hub.limits = { ...rig.hub.limits, body_bytes: 4_096 }
  for (let n = 0; n < 100; n++) rig.states.set(`cart-${n}`, { name: 'x'.repeat(100) })
  await rig.round()
  assert.ok(rig.hub.latest.length > 2)
  assert.equal(rig.hub.latest.flatMap(({ devices }) => devices).length, 100)
  assert.ok(rig.hub.latest.every(({ is_complete }) => !is_complete))
})
