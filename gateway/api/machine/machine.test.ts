import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { backUp } from '#gateway/offline/backups.ts'
import { restoreBackup } from '#gateway/offline/restore.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { FilePlace } from '#store/backups/file-place.ts'
import { TestHub } from '#sync-testing/test-hub.ts'
import { FakeMachine, type FakeParts } from '#testing/fake-machine.ts'
import { fails, ok, pluck, publish, scene } from '#testing/scene.ts'
import { startFor, type TestGateway } from '#testing/start-gateway.ts'

/** System id of both machines: the card was copied. */
const SYSTEM_ID = '3d1219c7c4c5404aaa1f6d2a48adfda4'
const FIRST: FakeParts = { board: '10000000abcdef01', systemId: SYSTEM_ID }
const SECOND: FakeParts = { board: '10000000abcdef02', systemId: SYSTEM_ID }
const health = async (g: TestGateway) => (await g.get('/health')).body
const confirm = (g: TestGateway) => g.post('/machine/confirm')

async function startOn(t: TestContext, parts: FakeParts, settings: Record<string, string> = {}) {
  const machine = new FakeMachine(t, parts)
  const g = await startFor(t, settings, { machineRoot: machine.root })
  return { g, moveTo: (other: FakeParts) => g.restart(() => machine.becomes(other)) }
}

const { onlyFor } = scene({ inScope: [] })

onlyFor('admins', ['POST', '/machine/confirm'])

test('a copied card serves its devices and sends the head office nothing until an admin decides', async (t) => {
  const hub = await new TestHub().start()
  t.after(() => hub.stop())
  const { g, moveTo } = await startOn(t, FIRST, {
    CARTBARN_UPSTREAM_URL: hub.url,
    CARTBARN_UPSTREAM_KEY: `cbs_links_${'k'.repeat(43)}`,
    CARTBARN_SITE_ID: 'links',
  })
  await eventually(() => hub.hellos.length > 0, 'the first machine is connected')
  assert.equal((await health(g)).machine, undefined)
  const password = await g.register('cart-1')

  const instance = hub.hellos.at(-1)?.instance
  await g.restart()
  await eventually(() => hub.hellos.at(-1)?.instance !== instance, 'another start on the same machine')
  assert.equal((await health(g)).machine, undefined)

  await moveTo(SECOND)
  const requestCounts = () =>
    [hub.hellos, hub.pushes, hub.latest, hub.audits, hub.intentQueries].map(({ length }) => length)
  const before = requestCounts()
  const { status, machine, machine_detail } = await health(g)
  assert.deepEqual([status, machine], ['ok', 'other'])
  assert.match(machine_detail, /board has another serial number.*POST \/machine\/confirm.*new-site -- --yes/)
  assert.deepEqual(Object.keys((await g.get('/health', { key: null })).body), [
    'status',
    'timestamp',
    'clock',
    'machine',
  ])
  const device = await g.connect('cart-1', password)
  await publish(device, 'dev/cart-1/tlm', { lat: 1, long: 2 })
  await ok(g.post('/groups', { name: 'North' }), 201)
  const sync = async () => (await g.get('/sync/status')).body
  await eventually(async () => (await sync()).state === 'other_machine', 'the replication is held')
  assert.match((await sync()).explanation, /used on another host/)
  await fails(g.get('/sync/export'), 409, 'other_machine')

  // restarted without a decision: it asks again
  await g.restart()
  assert.equal((await health(g)).machine, 'other')
  await eventually(async () => (await sync()).state === 'other_machine', 'the replication is held again')
  assert.deepEqual(requestCounts(), before)

  const answers = await Promise.all([confirm(g), confirm(g)])
  assert.deepEqual(
    pluck(answers, 'status', 'body'),
    [1, 2].map(() => [200, { machine: 'confirmed' }]),
  )
  assert.equal((await health(g)).machine, undefined)
  await ok(confirm(g))
  await eventually(() => hub.latest.length > (before[2] ?? 0), 'the head office hears of it')
  const { entries } = (await g.get('/audit-log?action=machine.confirmed')).body
  assert.equal(entries.length, 1)

  await g.restart()
  assert.equal((await health(g)).machine, undefined)
  await moveTo(FIRST)
  assert.equal((await health(g)).machine, 'other', 'the machine of before is another one now')
})

test('a card that is put back needs no decision', async (t) => {
  const { g, moveTo } = await startOn(t, FIRST)
  await moveTo(SECOND)
  assert.equal((await health(g)).machine, 'other')
  await moveTo(FIRST)
  assert.equal((await health(g)).machine, undefined)
})

test('a copied card leaves the backups of its first course alone until an admin decides', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-machine-nightly-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const { g, moveTo } = await startOn(t, FIRST, {
    CARTBARN_BACKUP_TO: `${folder}/`,
    CARTBARN_BACKUP_PASSPHRASE: 'the nineteenth hole',
  })
  const backups = async () => (await g.get('/backups')).body
  assert.equal((await backups()).state, 'idle')
  await moveTo(SECOND)
  const { state, next_at } = await backups()
  assert.deepEqual([state, next_at], ['other_machine', null])
  await fails(g.post('/backups'), 409, 'other_machine')
  assert.deepEqual(readdirSync(folder), [])
  await confirm(g)
  assert.equal((await backups()).state, 'idle')
})

test('a new system or network card is the same machine; identifiers read later count from then on', async (t) => {
  const card = (address: string) => ({ cards: [{ address }] })
  const { g, moveTo } = await startOn(t, {})
  const isOther = async () => (await health(g)).machine === 'other'
  await moveTo({ systemId: SYSTEM_ID })
  await moveTo({ ...FIRST, ...card('dc:a6:32:00:00:01') })
  await moveTo({ ...FIRST, ...card('dc:a6:32:00:00:02'), systemId: '1'.repeat(16) + '2'.repeat(16) })
  await moveTo({})
  assert.equal(await isOther(), false)
  await moveTo({ ...SECOND, ...card('dc:a6:32:00:00:02') })
  assert.equal(await isOther(), true)
})

test('restoring a backup on another machine confirms that it is the same course', async (t) => {
  const { g } = await startOn(t, FIRST)
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-machine-backup-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'course.backup')
  await backUp({ dataDir: g.config.dataDir, to: file, atMs: 0 })
  const dataDir = mkdtempSync(join(tmpdir(), 'cartbarn-machine-restored-'))
  await restoreBackup({ dataDir, from: FilePlace.toRead(file), atMs: 0 })
  const { g: restored, moveTo } = await startOn(t, SECOND, { CARTBARN_DATA_DIR: dataDir })
  assert.equal((await health(restored)).machine, undefined)
  await moveTo(FIRST)
  assert.equal((await health(restored)).machine, 'other')
})
