import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createLog } from '#shared/log.ts'
import { NO_CURSOR } from '#shared/wire/replication/replicated.ts'
import { type AgentRig, startRig } from '#sync-testing/agent-rig.ts'
import { byStream } from '#sync-testing/memory-source.ts'
import { Cursors } from './cursors.ts'

function cursorsOf({ source, dataDir }: AgentRig): Cursors {
  const log = createLog('silent')
  return new Cursors({ source, site: 'links', dataDir, log, onAcked: () => {}, onWentBack: async () => {} })
}

/** Starts a rig whose hub has ten lock events and as much telemetry. */
async function startDrained(t: TestContext) {
  const rig = await startRig(t)
  rig.source.append('lock_events', 10)
  rig.source.append('telemetry', 10)
  await rig.drain()
  return rig
}

/** The hub loses its lock events and all cursors. */
function loseEvents(rig: AgentRig) {
  const stored = rig.hub.epochs.get(rig.source.identity().epoch)
  assert.ok(stored !== undefined)
  stored.cursors = byStream(() => NO_CURSOR)
  stored.rows.lock_events.length = 0
  return stored
}

test('the first hello claims the database for the site', async (t) => {
  const rig = await startRig(t)
  assert.equal(rig.source.identity().site, null)
  await rig.step('link')
  assert.equal(rig.source.identity().site, 'links')
  const [hello] = rig.hub.hellos
  assert.deepEqual([hello?.protocol, hello?.site, hello?.forked_from], [1, 'links', null])
})

test('a gateway with the database of another site sends no data and reports what to do', async (t) => {
  const rig = await startRig(t)
  await rig.source.claim('palms')
  rig.source.append('lock_events', 3)
  for (let n = 0; n < 5; n++) await rig.round()
  assert.deepEqual([rig.hub.hellos.length, rig.hub.pushes.length], [0, 0])
  const { state, explanation } = rig.agent.status
  assert.equal(state, 'other_site')
  assert.match(explanation, /site palms.*CARTBARN_SITE_ID is links.*empty data folder/)
})

test('a gateway whose epoch belongs to another site at the hub is in the state other_site', async (t) => {
  const rig = await startRig(t)
  rig.hub.faultOf = () => ({ status: 409, code: 'foreign_epoch' })
  await rig.round()
  assert.equal(rig.agent.status.state, 'other_site')
})

test('a database restored to yesterday continues as a new epoch, detected by the side file alone', async (t) => {
  const rig = await startRig(t)
  rig.source.append('lock_events', 10)
  const yesterday = rig.source.copy()
  rig.source.append('lock_events', 10)
  await rig.drain()
  // the side file is written with the next thing that is sent
  rig.source.append('telemetry', 1)
  await rig.drain()
  const { epoch } = rig.source.identity()
  rig.source = yesterday
  await yesterday.claim('links')
  await rig.restart()
  yesterday.append('lock_events', 5)
  await rig.until(() => rig.isDrained, 'drained as another')
  assert.equal(yesterday.calls.fork, 1)
  assert.equal(yesterday.identity().forkedFrom?.epoch, epoch)
  assert.equal(rig.hub.idsOf(yesterday.identity().epoch, 'lock_events').length, 15)
  assert.equal(rig.hub.idsOf(epoch, 'lock_events').length, 20, 'what came before is still there')
  assert.equal(rig.hub.hellos.at(-1)?.forked_from?.epoch, epoch)
  assert.match(rig.agent.status.explanation, /restored from a backup.*keeps what it received of both/)
  await rig.restart()
  await rig.round()
  assert.equal(yesterday.calls.fork, 1, 'not once more')
})

test('without a side file, the response of the hub reveals a restored database', async (t) => {
  const rig = await startDrained(t)
  const other = await startRig(t)
  // as if the folder had been put back with the database
  const older = rig.source.copy()
  rig.source.append('lock_events', 10)
  await rig.drain()
  for (const [epoch, stored] of rig.hub.epochs) other.hub.epochs.set(epoch, stored)
  other.source = older
  await other.restart()
  await other.until(() => older.calls.fork > 0 && other.isDrained, 'drained as another')
  assert.equal(older.calls.fork, 1)
  assert.match(older.identity().forkedFrom?.reason ?? '', /restored from a backup/)
})

test('the second of two gateways with one identity continues as a new epoch, without data loss', async (t) => {
  const rig = await startDrained(t)
  const clone = await startRig(t)
  const { epoch } = rig.source.identity()
  clone.source = rig.source.copy()
  for (const [known, stored] of rig.hub.epochs) clone.hub.epochs.set(known, stored)
  await clone.restart()
  await clone.round()
  rig.source.append('lock_events', 3)
  await rig.until(() => rig.isDrained, 'the one drained')
  clone.source.append('lock_events', 4)
  await clone.drain()
  assert.deepEqual([rig.source.calls.fork, clone.source.calls.fork], [0, 1])
  assert.equal(rig.hub.idsOf(epoch, 'lock_events').length, 13)
  assert.equal(clone.hub.idsOf(clone.source.identity().epoch, 'lock_events').length, 14)
  assert.match(clone.source.identity().forkedFrom?.reason ?? '', /another gateway/)
})

test('a warning of the hub about two gateways is shown in the status of the gateway', async (t) => {
  const rig = await startDrained(t)
  rig.hub.warnings = ['two_gateways', 'quarantined']
  rig.source.append('lock_events')
  await rig.drain()
  const { state, explanation, warnings } = rig.agent.status
  assert.deepEqual([state, warnings], ['two_gateways', ['two_gateways', 'quarantined']])
  assert.match(explanation, /Two gateways send as site links.*Switch one off.*could not read/s)
})

test('a hub that lost data gets the lost rows again, and all data is compared', async (t) => {
  const rig = await startDrained(t)
  assert.equal(rig.agent.mayLack, false)
  const stored = loseEvents(rig)
  rig.source.append('lock_events')
  await rig.until(() => rig.isDrained && rig.source.calls.adopt === 1, 'adopted and drained')
  assert.equal(rig.source.calls.fork, 0)
  assert.equal(stored.rows.lock_events.length, 11)
  assert.equal(rig.agent.status.audit.state, 'wanted')
  assert.equal(rig.agent.mayLack, true)
  await rig.step('monitor', 'audit')
  assert.equal(rig.agent.mayLack, false)
})

test('the data loss of a hub is on the disk before its cursors, so that a crash does not lose it', async (t) => {
  const rig = await startDrained(t)
  loseEvents(rig)
  rig.source.append('lock_events')
  const adopt = rig.source.adopt.bind(rig.source)
  rig.source.adopt = async (cursors) => {
    await adopt(cursors)
    throw new Error('the power is cut')
  }
  for (let n = 0; n < 20 && rig.source.calls.adopt === 0; n++) await rig.round()
  rig.source.adopt = adopt
  await rig.restart()
  await rig.drain()
  assert.equal(rig.agent.mayLack, true)
  assert.equal(rig.agent.status.state, 'comparing')
})

test('a restored gateway is in sync once all its data has been compared', async (t) => {
  const rig = await startDrained(t)
  const yesterday = rig.source.copy()
  rig.source.append('lock_events', 10)
  await rig.drain()
  rig.source.append('telemetry', 1)
  await rig.drain()
  rig.source = yesterday
  await rig.restart()
  await rig.until(() => yesterday.calls.fork > 0 && rig.isDrained, 'drained as another')
  await rig.step('monitor')
  assert.deepEqual([rig.agent.status.state, rig.agent.mayLack], ['comparing', true])
  await rig.restart()
  await rig.until(() => rig.agent.status.state !== 'connecting', 'up again')
  assert.deepEqual([rig.agent.status.state, rig.agent.mayLack], ['comparing', true])
  await rig.step('monitor', 'audit')
  assert.deepEqual([rig.agent.status.state, rig.agent.mayLack], ['in_sync', false])
})

test('an epoch that the hub no longer knows starts with a hello', async (t) => {
  const rig = await startDrained(t)
  rig.hub.epochs.clear()
  rig.source.append('lock_events')
  await rig.until(() => rig.source.calls.adopt === 1 && rig.isDrained, 'there again')
  assert.equal(rig.source.calls.fork, 0)
})

test('a late response does not revert acknowledgements received since', async (t) => {
  const rig = await startRig(t)
  const { source } = rig
  const cursors = cursorsOf(rig)
  const asked = cursors.known
  const at = { seq: 5, hash: 'a'.repeat(64) }
  assert.ok(await cursors.acknowledge({ lock_events: at }, asked))
  const none = byStream(() => NO_CURSOR)
  assert.equal(await cursors.reconcile(none, asked), 'known')
  assert.deepEqual([cursors.at('lock_events'), source.calls.adopt], [at, 0])
  assert.equal(await cursors.reconcile(none, cursors.known), 'went_back')
})

test('a response to a request of another epoch is ignored', async (t) => {
  const rig = await startRig(t)
  const { source } = rig
  const cursors = cursorsOf(rig)
  const asked = cursors.known
  await cursors.fork('for the test')
  assert.equal(await cursors.acknowledge({ lock_events: { seq: 5, hash: 'a'.repeat(64) } }, asked), false)
  assert.deepEqual([cursors.at('lock_events'), source.calls.acknowledge], [NO_CURSOR, 0])
})

test('a hub that keeps contradicting itself does not cause endless new epochs', async (t) => {
  const rig = await startRig(t)
  rig.source.append('lock_events', 1)
  const foreign = byStream(() => ({ seq: 7, hash: 'f'.repeat(64) }))
  rig.hub.faultOf = (path) => (path === 'push' ? { status: 409, body: { code: 'cursor', cursors: foreign } } : null)
  for (let n = 0; n < 40; n++) await rig.round()
  assert.equal(rig.source.calls.fork, 3)
  assert.equal(rig.agent.status.state, 'refused')
})
