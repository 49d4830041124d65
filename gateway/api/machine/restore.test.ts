import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import Database from 'better-sqlite3'
import { eventually } from '#shared/testing/eventually.ts'
import { FilePlace } from '#store/backups/file-place.ts'
import { FolderPlace } from '#store/backups/folder-place.ts'
import { S3Place } from '#store/backups/s3/s3-place.ts'
import { newFolder } from '#testing/backup-sets.ts'
import {
  assertRestored,
  begin,
  courseAt,
  ended,
  health,
  isChunk,
  NEW_KEY,
  PASSPHRASE,
  readState,
  restore,
  startNew,
} from '#testing/backups/restoring.ts'
import { S3Server } from '#testing/s3-server.ts'

test('a backup on a stick replaces the new database, and its device and its key are valid', async (t) => {
  const { g, disk } = await startNew(t)
  const { password, atMs } = await courseAt(new FolderPlace(join(disk, 'set')), PASSPHRASE)
  const from = { kind: 'stick', path: join(disk, 'set') }
  const id = await begin(g, from, { passphrase: PASSPHRASE })
  const { state, result } = await ended(g.http, id)
  assert.equal(state, 'done')
  assert.ok(Date.parse(result?.at ?? '') >= atMs)
  assert.deepEqual([result?.credentials, result?.authority], [null, 'restored'])
  // over TLS too, with the authority that devices trust
  assert.notEqual((await g.get('/tls')).body.certificate, null)
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

test('a backup of a newer version is refused, with the way out', async (t) => {
  const { g, disk } = await startNew(t)
  const set = join(disk, 'set')
  await courseAt(new FolderPlace(set), undefined, (dataDir) => {
    const db = new Database(join(dataDir, 'cartbarn.db'))
    db.pragma('user_version = 999')
    db.close()
  })
  const { status, body } = await restore(g, { kind: 'stick', path: set })
  assert.deepEqual([status, body.code], [409, 'backup_unreadable'])
  assert.match(body.detail, /^cartbarn \S+ made the backup: install that version first$/)
  assert.equal((await g.get('/me', { key: NEW_KEY })).status, 200)
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

test('a gateway that is stopped during a restore keeps its own database', async (t) => {
  const bucket = await S3Server.open(t)
  const { g } = await startNew(t)
  await courseAt(new S3Place({ bucket: 'barn', prefix: 'north/' }, bucket.settings))
  bucket.trouble = (_, key) => (isChunk(key) ? 'hang' : undefined)
  const { endpoint, region, keyId: key_id, secret } = bucket.settings
  await begin(g, { kind: 'bucket', endpoint, region, bucket: 'barn', prefix: 'north', key_id, secret })
  const { http } = g
  await eventually(async () => (await health(http))?.status === 'restoring', 'the restore')
  await g.restart()
  assert.equal((await g.get('/me', { key: NEW_KEY })).status, 200)
})
