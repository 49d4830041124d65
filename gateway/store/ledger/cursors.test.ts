import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createLog } from '#shared/log.ts'
import { NO_CURSOR, SYNC_STREAMS } from '#shared/wire/replication/replicated.ts'
import type { SyncCursors } from '#shared/wire/replication/sync.ts'
import { appendToLog, registerDevice } from '#testing/telemetry-tables.ts'
import { Store } from '../store.ts'
import { openWriter } from '../writer/open.ts'

const HASH = 'ab'.repeat(32)

async function open(t: TestContext) {
  const dataDir = mkdtempSync(join(tmpdir(), 'cartbarn-cursors-'))
  const store = new Store({ dataDir, readerThreads: 1, writeQueueRows: 100 }, createLog('silent'))
  await store.start()
  const other = openWriter(join(dataDir, 'cartbarn.db'))
  t.after(async () => {
    other.close()
    await store.stop()
    rmSync(dataDir, { recursive: true, force: true })
  })
  return { store, other }
}

function cursorsAt(seq: number): SyncCursors {
  const cursor = { seq, hash: HASH }
  return {
    notes: cursor,
    lock_events: cursor,
    geofence_events: cursor,
    entities: cursor,
    telemetry: cursor,
    history: cursor,
  }
}

test('a new database has its own identity, no site and no acknowledged rows', async (t) => {
  const { store } = await open(t)
  const other = await open(t)
  const identity = store.read.syncIdentity()
  assert.match(identity.epoch, /^[0-9a-f]{32}$/)
  assert.notEqual(identity.epoch, other.store.read.syncIdentity().epoch)
  assert.deepEqual([identity.site, identity.forkedFrom], [null, null])
  for (const stream of SYNC_STREAMS) {
    assert.deepEqual(store.read.syncCursors()[stream], NO_CURSOR)
    assert.equal(store.read.syncEnds()[stream], 0)
  }
})

test('acknowledgements are stored by stream, and their log entries are deleted', async (t) => {
  const { store, other } = await open(t)
  other.db.exec(`
    INSERT INTO block_log (seq, block_id) VALUES (3, 30), (4, 40), (5, 50);
    INSERT INTO erase_mark (note_seq, telemetry_seq, history_seq) VALUES (3, 1, 1), (4, 1, 1), (5, 1, 1);
  `)
  const left = () => [
    other.all<{ seq: number }>('SELECT seq FROM block_log ORDER BY seq').map(({ seq }) => seq),
    other.all<{ seq: number }>('SELECT note_seq AS seq FROM erase_mark').map(({ seq }) => seq),
  ]
  await store.write('acknowledge', { cursors: { telemetry: { seq: 99, hash: HASH } } })
  assert.deepEqual(left(), [
    [3, 4, 5],
    [3, 4, 5],
  ])
  await store.write('acknowledge', { cursors: { history: { seq: 4, hash: HASH } } })
  await store.write('acknowledge', { cursors: { notes: { seq: 3, hash: HASH } } })
  assert.deepEqual(left(), [[5], [4, 5]])
  const { telemetry, history, notes, entities } = store.read.syncCursors()
  assert.deepEqual([telemetry.seq, history.seq, notes.seq, entities], [99, 4, 3, NO_CURSOR])
  assert.equal(telemetry.hash, HASH)
})

test('the cursors of the head office replace the stored ones', async (t) => {
  const { store } = await open(t)
  await store.write('acknowledge', { cursors: cursorsAt(50) })
  await store.write('adoptCursors', { cursors: { ...cursorsAt(20), notes: NO_CURSOR } })
  assert.deepEqual(store.read.syncCursors(), { ...cursorsAt(20), notes: NO_CURSOR })
})

test('a fork is a new epoch that names its origin and starts with empty cursors', async (t) => {
  const { store } = await open(t)
  const { epoch } = store.read.syncIdentity()
  await store.write('claimSite', { site: 'links' })
  await store.write('acknowledge', { cursors: cursorsAt(50) })
  const forked = await store.write('forkEpoch', { reason: 'restored from a backup' })
  assert.match(forked.epoch, /^[0-9a-f]{32}$/)
  assert.notEqual(forked.epoch, epoch)
  assert.deepEqual(forked, {
    epoch: forked.epoch,
    site: 'links',
    forkedFrom: { epoch, reason: 'restored from a backup' },
  })
  assert.deepEqual(store.read.syncIdentity(), forked)
  assert.deepEqual(store.read.syncCursors().telemetry, NO_CURSOR)
})

test('a site is claimed once', async (t) => {
  const { store } = await open(t)
  assert.equal((await store.write('claimSite', { site: 'links' })).site, 'links')
  assert.equal((await store.write('claimSite', { site: 'links' })).site, 'links')
  await assert.rejects(store.write('claimSite', { site: 'dunes' }), /links/)
  assert.equal(store.read.syncIdentity().site, 'links')
})

test('the stream ends are the last positions ever assigned, even if rows were deleted', async (t) => {
  const { store, other } = await open(t)
  registerDevice(other, 1)
  const { entities } = store.read.syncEnds()
  assert.equal(entities, 1)
  const samples = [1, 2, 3].map((n) => ({ deviceId: 1, atMs: n * 1000, streams: 'both', value: n }) as const)
  appendToLog(other, samples)
  const end = store.read.syncEnds().telemetry
  assert.ok(end >= 3)
  appendToLog(other, samples.slice(0, 2))
  assert.equal(store.read.syncEnds().telemetry, end + 2)
  await store.write('dropLog', { fromSeq: 0, throughSeq: end + 2, limit: 100 })
  assert.equal(store.read.syncEnds().telemetry, end + 2)
  other.db.exec(`
    INSERT INTO block_log (block_id) VALUES (1), (2);
    DELETE FROM block_log;
  `)
  assert.equal(store.read.syncEnds().history, 2)
})
