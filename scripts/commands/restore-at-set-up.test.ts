import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { backUp } from '#gateway/offline/backups.ts'
import { ANY_DATABASE } from '#hub/testing/databases.ts'
import { openHub } from '#hub/testing/open-hub.ts'
import { ENTRY } from '#scripts/cli/start-command.ts'
import { bareEnvironment } from '#shared/testing/bare-environment.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { freePort } from '#shared/testing/free-port.ts'
import type { RestoreState } from '#shared/wire/backups.ts'
import { FilePlace } from '#store/backups/file-place.ts'
import { FolderPlace } from '#store/backups/folder-place.ts'
import type { BackupPlace } from '#store/backups/place.ts'
import { S3Place } from '#store/backups/s3/s3-place.ts'
import { newFolder } from '#testing/backup-sets.ts'
import { S3Server } from '#testing/s3-server.ts'
import { startGateway, type TestGateway } from '#testing/start-gateway.ts'

const PASSPHRASE = 'nineteenth'
const NEW_KEY = 'flt_key_of_the_new_gateway_0123456789'
const LONG_MS = 60_000

/** Backs up a course with a device while its gateway runs; returns the password of the device. */
async function courseAt(to: BackupPlace, passphrase?: string): Promise<{ password: string; atMs: number }> {
  const old = await startGateway()
  try {
    const password = await old.register('cart-1')
    await old.patch('/site', { name: 'Old Course' })
    const atMs = Date.now()
    await backUp({ dataDir: old.config.dataDir, to, passphrase, atMs })
    return { password, atMs }
  } finally {
    await old.stop()
  }
}

/** Starts a new gateway whose admin has another key, with a folder for sticks. */
async function startNew(t: TestContext) {
  const disk = mkdtempSync('/dev/shm/cartbarn-stick-')
  t.after(() => rmSync(disk, { recursive: true, force: true }))
  const given = { CARTBARN_ADMIN_API_KEY: NEW_KEY, CARTBARN_HTTP_PORT: String(await freePort()) }
  const g = await startGateway(given, { stickRoots: [disk] })
  t.after(() => g.stop())
  return { g, disk }
}

const restore = (g: TestGateway, from: object, more: object = {}) =>
  g.post('/setup/restore', { from, ...more }, { key: NEW_KEY })

async function begin(g: TestGateway, from: object, more: object = {}): Promise<string> {
  const { status, body } = await restore(g, from, more)
  assert.equal(status, 202, JSON.stringify(body))
  return body.restore_id
}

/** Reads the state over HTTP, also while the listener changes hands. */
async function readState(url: string, id: string): Promise<RestoreState | null> {
  try {
    const response = await fetch(`${url}/setup/restore/${id}`)
    // of the gateway's own schema
    return response.ok ? ((await response.json()) as RestoreState) : null
  } catch {
    return null
  }
}

async function ended(url: string, id: string): Promise<RestoreState> {
  let state: RestoreState | null = null
  await eventually(
    async () => {
      state = await readState(url, id)
      return state !== null && state.state !== 'restoring'
    },
    'the end of the restore',
    LONG_MS,
  )
  return state ?? assert.fail()
}

async function assertRestored(g: TestGateway, password: string): Promise<void> {
  assert.equal((await g.get('/site')).body.name, 'Old Course')
  assert.equal((await g.get('/site', { key: NEW_KEY })).body.code, 'invalid_api_key')
  const device = await g.connect('cart-1', password)
  await device.publishAsync('dev/cart-1/tlm', JSON.stringify({ lat: 51, long: 7 }), { qos: 1 })
  await g.closeClients()
}

test('a backup on a stick replaces the new database, and its device and its key are valid', async (t) => {
  const { g, disk } = await startNew(t)
  const { password, atMs } = await courseAt(new FolderPlace(join(disk, 'set')), PASSPHRASE)
  const from = { kind: 'stick', path: join(disk, 'set') }
  const id = await begin(g, from, { passphrase: PASSPHRASE })
  const { state, result } = await ended(g.http, id)
  assert.equal(state, 'done')
  assert.ok(Date.parse(result?.at ?? '') >= atMs)
  assert.equal(result?.credentials, null)
  assert.ok(result?.kept_in != null && existsSync(join(result.kept_in, 'cartbarn.db')))
  await assertRestored(g, password)
  const { entries } = (await g.get('/audit-log?action=backup.restored')).body
  assert.deepEqual([entries.length, entries[0].user_id, entries[0].target], [1, null, 'stick'])
  assert.equal((await g.get('/setup/restore/unknown', { key: null })).body.code, 'restore_not_found')
  // it has a device now
  assert.equal((await g.post('/setup/restore', { from })).body.code, 'not_new')
})

test('an upload is restored and then deleted', async (t) => {
  const { g } = await startNew(t)
  const path = join(newFolder(t), 'one.backup')
  const { password } = await courseAt(FilePlace.toWrite(path))
  const headers = { 'content-type': 'application/octet-stream' }
  await g.put('/setup/upload?offset=0', readFileSync(path), { key: NEW_KEY, headers })
  const id = await begin(g, { kind: 'upload' })
  assert.equal((await ended(g.http, id)).state, 'done')
  await assertRestored(g, password)
  assert.equal(existsSync(join(g.config.dataDir, 'uploaded-backup')), false)
})

test('what can be known before is refused without a restart', async (t) => {
  const { g, disk } = await startNew(t)
  await courseAt(new FolderPlace(join(disk, 'set')), PASSPHRASE)
  const from = { kind: 'stick', path: join(disk, 'set') }
  const { app } = g
  for (const [source, more, expected] of [
    [from, { passphrase: 'a wrong guess' }, [409, 'backup_unreadable']],
    [from, { passphrase: PASSPHRASE, number: 7 }, [409, 'backup_unreadable']],
    [{ kind: 'stick', path: '/etc' }, {}, [400, 'invalid_field']],
    [{ kind: 'head_office', url: 'ftp://hub', key: `cbs_a_${'x'.repeat(43)}` }, {}, [400, 'invalid_field']],
  ] as const) {
    const { status, body } = await restore(g, source, more)
    assert.deepEqual([status, body.code], expected)
    assert.doesNotMatch(JSON.stringify(body), /wrong guess/)
  }
  await g.post('/devices', { hardware_id: 'cart-2', device_type: 'teebox' }, { key: NEW_KEY })
  assert.equal((await restore(g, from, { passphrase: PASSPHRASE })).body.code, 'not_new')
  assert.equal(g.app, app)
})

test('a restore that fails leaves the gateway as it was, with the upload for another attempt', async (t) => {
  const { g, disk } = await startNew(t)
  const set = join(disk, 'set')
  await courseAt(new FolderPlace(set))
  await g.patch('/site', { name: 'New Course' }, { key: NEW_KEY })
  const epoch = (await g.get('/sync/status', { key: NEW_KEY })).body
  damageChunks(set)
  const id = await begin(g, { kind: 'stick', path: set })
  const { state, reason } = await ended(g.http, id)
  assert.equal(state, 'failed')
  assert.match(reason ?? '', /damaged|missing|changed|not/)
  assert.equal((await g.get('/site', { key: NEW_KEY })).body.name, 'New Course')
  assert.deepEqual((await g.get('/sync/status', { key: NEW_KEY })).body, epoch)
  const { entries } = (await g.get('/audit-log?action=backup.not_restored', { key: NEW_KEY })).body
  assert.equal(entries.length, 1)
  assert.deepEqual(
    readdirSync(g.config.dataDir).filter((name) => /replaced|unfinished|fetched/.test(name)),
    [],
  )
})

/** Deletes all chunks of a set, which a listing does not read. */
function damageChunks(set: string): void {
  const chunks = readdirSync(set, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /(^|\/)[0-9a-f]{64}$/.test(name),
  )
  assert.ok(chunks.length > 0)
  for (const name of chunks) rmSync(join(set, name))
}

test('while a slow bucket is restored, HTTP shows the progress, and nothing else begins', async (t) => {
  const bucket = await S3Server.open(t)
  const { g } = await startNew(t)
  await courseAt(new S3Place({ bucket: 'barn', prefix: 'north/' }, bucket.settings), PASSPHRASE)
  const { endpoint, region, keyId: key_id, secret } = bucket.settings
  const from = { kind: 'bucket', endpoint, region, bucket: 'barn', prefix: 'north', key_id, secret }
  let isHeld = true
  bucket.trouble = (_, key) => (isHeld && isChunk(key) ? { status: 503 } : undefined)
  const id = await begin(g, from, { passphrase: PASSPHRASE })
  const again = await restore(g, from, { passphrase: PASSPHRASE })
  assert.equal(again.body.code, 'restoring')
  const url = g.http
  await eventually(async () => (await health(url))?.status === 'restoring', 'the restore')
  assert.deepEqual((await readState(url, id))?.state, 'restoring')
  // the watchdog of the service manager is fed
  assert.ok(performance.now() - g.disk.answeredAtMs < 1_000)
  const unknown = await fetch(`${url}/setup/restore/other`)
  assert.equal(unknown.status, 404)
  const page = await fetch(`${url}/app/`, { headers: { accept: 'text/html' } })
  assert.match(await page.text(), /A backup is being restored/)
  isHeld = false
  assert.equal((await ended(url, id)).state, 'done')
})

const isChunk = (key: string) => /\/[0-9a-f]{64}/.test(key)

async function health(url: string): Promise<{ status: string } | null> {
  try {
    // a body that has no status fails the test
    return (await (await fetch(`${url}/health`)).json()) as { status: string }
  } catch {
    return null
  }
}

test('a gateway that is killed during a restore starts with its own database', async (t) => {
  const bucket = await S3Server.open(t)
  await courseAt(new S3Place({ bucket: 'barn', prefix: 'north/' }, bucket.settings))
  const { endpoint, region, keyId: key_id, secret } = bucket.settings
  bucket.trouble = (_, key) => (isChunk(key) ? 'hang' : undefined)
  const url = `http://127.0.0.1:${await freePort()}`
  const dataDir = newFolder(t)
  const env = bareEnvironment({
    CARTBARN_DATA_DIR: dataDir,
    CARTBARN_HOST: '127.0.0.1',
    CARTBARN_HTTP_PORT: new URL(url).port,
    CARTBARN_MQTT_PORT: '0',
    CARTBARN_READER_THREADS: '1',
    CARTBARN_ADMIN_API_KEY: NEW_KEY,
  })
  const start = () => {
    const child = spawn(process.execPath, [ENTRY, 'run'], { env, stdio: 'ignore' })
    t.after(() => child.kill('SIGKILL'))
    return child
  }
  const child = start()
  await eventually(async () => (await health(url))?.status === 'ok', 'the gateway', LONG_MS)
  const headers = { 'x-api-key': NEW_KEY, 'content-type': 'application/json' }
  const from = { kind: 'bucket', endpoint, region, bucket: 'barn', prefix: 'north', key_id, secret }
  await fetch(`${url}/setup/restore`, { method: 'POST', headers, body: JSON.stringify({ from }) })
  await eventually(() => existsSync(join(dataDir, 'restore-unfinished')), 'the restore', LONG_MS)
  child.kill('SIGKILL')
  await once(child, 'exit')
  const next = start()
  await eventually(async () => (await health(url))?.status === 'ok', 'the gateway', LONG_MS)
  assert.equal((await fetch(`${url}/me`, { headers })).status, 200)
  assert.equal(existsSync(join(dataDir, 'restore-unfinished')), false)
  next.kill('SIGTERM')
  await once(next, 'exit')
})

test('the data at a head office replaces the new database', async (t) => {
  const hub = await openHub(ANY_DATABASE)
  t.after(() => hub.stop())
  const { siteId, key } = await hub.hub.sites.add('Old Course')
  const url = hub.hub.url()
  const upstream = { CARTBARN_UPSTREAM_URL: url, CARTBARN_UPSTREAM_KEY: key, CARTBARN_SITE_ID: siteId }
  const old = await startGateway(upstream)
  await old.register('cart-1')
  await old.patch('/site', { name: 'Old Course' })
  await eventually(async () => (await old.get('/sync/status')).body.state === 'in_sync', 'the sync', LONG_MS)
  await old.stop()
  const { g } = await startNew(t)
  const wrong = await begin(g, { kind: 'head_office', url, key: `${key.slice(0, -1)}${key.endsWith('x') ? 'y' : 'x'}` })
  assert.equal((await ended(g.http, wrong)).state, 'failed')
  assert.equal((await g.get('/me', { key: NEW_KEY })).status, 200)
  const id = await begin(g, { kind: 'head_office', url, key })
  const { state, result, reason } = await ended(g.http, id)
  assert.equal(state, 'done', reason)
  const { path = '', devices, users } = result?.credentials ?? {}
  assert.deepEqual([devices, users], [1, 0])
  const lines = readFileSync(path, 'utf8')
    .split('\n')
    .map((line) => line.split(','))
  const secretOf = (what: string) => lines.find(([one]) => one === what)?.[3] ?? ''
  assert.equal((await g.get('/site', { key: NEW_KEY })).body.name, 'Old Course')
  await g.connect('cart-1', secretOf('device'))
  await g.closeClients()
  assert.deepEqual(
    readdirSync(g.config.dataDir).filter((name) => name.startsWith('fetched')),
    [],
  )
})
