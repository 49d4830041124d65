import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ANY_DATABASE } from '#hub/testing/databases.ts'
import { openHub } from '#hub/testing/open-hub.ts'
import { ENTRY } from '#scripts/cli/start-command.ts'
import { bareEnvironment } from '#shared/testing/bare-environment.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { freePort } from '#shared/testing/free-port.ts'
import { S3Place } from '#store/backups/s3/s3-place.ts'
import { newFolder } from '#testing/backup-sets.ts'
import { begin, courseAt, ended, health, isChunk, LONG_MS, NEW_KEY, startNew } from '#testing/backups/restoring.ts'
import { S3Server } from '#testing/s3-server.ts'
import { startGateway } from '#testing/start-gateway.ts'

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
