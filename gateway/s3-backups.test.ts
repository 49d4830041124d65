import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import Database from 'better-sqlite3'
import { backUp } from '#gateway/offline/backups.ts'
import { restoreBackup } from '#gateway/offline/restore.ts'
import { BackupSet } from '#store/backups/backup-set.ts'
import { checkBackup } from '#store/backups/check-backup.ts'
import { S3Place } from '#store/backups/s3/s3-place.ts'
import { BlockTable } from '#testing/block-table.ts'
import { S3Server } from '#testing/s3-server.ts'

const T0 = Date.UTC(2026, 4, 1)
const ADDRESS = { bucket: 'barn', prefix: 'north/' }
const PATIENCE = { limitMs: 20_000, waitsMs: [0, 0] }
const folder = mkdtempSync(join(tmpdir(), 'cartbarn-s3-'))
after(() => rmSync(folder, { recursive: true, force: true }))

function dataFolder(user = 'anna'): string {
  const data = mkdtempSync(join(folder, 'data-'))
  const table = new BlockTable(join(data, 'cartbarn.db'))
  const device = table.newDevice()
  for (let day = 0; day < 3; day++)
    table.addBlock(
      device,
      'gps',
      Array.from({ length: 900 }, (_, i) => T0 + day * 86_400_000 + i * 1000),
    )
  table.connection.db
    .prepare(
      `INSERT INTO user (user_id, name, role, is_active, key_hash, created_at_ms, updated_at_ms, last_reset_ms)
       VALUES (?, ?, 'staff', 1, ?, 1, 1, 1)`,
    )
    .run(`id-${user}`, user, `key-of-${user}`)
  table.connection.db.exec(`
    WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 9000)
      INSERT INTO lock_event (event_id, hardware_id, identity, event, source, at_ms, metadata)
      SELECT 'e' || i, 'cart-1', 'i' || i, 'unlock', 'rfid', i, hex(randomblob(80)) FROM c`)
  table.close()
  return data
}

const countEvents = (data: string) => {
  const db = new Database(join(data, 'cartbarn.db'), { readonly: true })
  try {
    return Number(db.prepare('SELECT count(*) FROM lock_event').pluck().get())
  } finally {
    db.close()
  }
}

const place = (store: S3Server, patience = PATIENCE) => new S3Place(ADDRESS, store.settings, patience)

async function setUp(t: TestContext) {
  const store = await S3Server.open(t)
  const dataDir = dataFolder()
  const backUpNow = (to = place(store)) => backUp({ dataDir, to, passphrase: 'nineteenth', atMs: T0, keep: 2 })
  const restoreNow = async () => {
    const to = mkdtempSync(join(folder, 'to-'))
    await restoreBackup({ dataDir: to, from: place(store), passphrase: 'nineteenth', atMs: T0 })
    return to
  }
  return { store, dataDir, backUpNow, restoreNow }
}

const names = (store: S3Server, part: string) =>
  [...store.objects.keys()].filter((key) => key.startsWith(`north/${part}/`))

test('a bucket receives only new chunks, loses unneeded backups and chunks, and can be restored', async (t) => {
  const { store, dataDir, backUpNow, restoreNow } = await setUp(t)
  store.objects.set('another/blobs/00/x', Buffer.from('of somebody else'))
  const first = await backUpNow()
  const db = new Database(join(dataDir, 'cartbarn.db'))
  db.exec('DELETE FROM lock_event WHERE seq > 4500')
  db.close()
  const second = await backUpNow()
  assert.ok(second.newBytes < first.newBytes, `${second.newBytes} of ${first.newBytes}`)
  const held = names(store, 'blobs').length
  const third = await backUpNow()
  assert.deepEqual([second.removed, third.removed, third.number], [0, 1, 3])
  assert.equal(names(store, 'snapshots').length, 2)
  assert.ok(names(store, 'blobs').length < held)
  assert.ok(store.objects.has('another/blobs/00/x'))
  assert.equal(countEvents(await restoreNow()), 4500)
  assert.equal(store.mostAtOnce, 1)
  assert.equal(
    [...store.objects.values()].some((content) => content.includes('cart-1')),
    false,
  )
})

test('lists of more than a thousand names are read to their end, each page once', async (t) => {
  const { store } = await setUp(t)
  for (let i = 0; i < 2_500; i++) store.objects.set(`north/blobs/${i}`, Buffer.alloc(i % 7))
  const listed = await place(store).list('blobs')
  assert.equal(new Set(listed.map(({ name }) => name)).size, 2_500)
  assert.deepEqual(listed[0], { name: 'blobs/0', bytes: 0 })
  assert.equal(store.requests.length, 3)
})

test('the bucket of another gateway is rejected, also when both begin at the same time', async (t) => {
  const { store, backUpNow } = await setUp(t)
  await backUpNow()
  const before = [...store.objects.keys()]
  const order = { dataDir: dataFolder('ben'), passphrase: 'nineteenth', atMs: T0 }
  await assert.rejects(backUp({ ...order, to: place(store) }), { message: /backups of another gateway/ })
  assert.deepEqual([...store.objects.keys()], before)
  store.objects.clear()
  let isBegun = false
  store.trouble = (method, key) => {
    // the other one found nothing either, and ends first
    if (method === 'PUT' && key.includes('blobs') && !isBegun) {
      isBegun = true
      store.objects.set('north/cartbarn-backup.json', Buffer.from(OTHER_HEADER))
    }
    return undefined
  }
  await assert.rejects(backUp({ ...order, to: place(store) }), {
    message: /changed by another gateway or program in the meantime/,
  })
  assert.deepEqual(names(store, 'snapshots'), [])
})

const OTHER_HEADER = JSON.stringify({ format: 'cartbarn-backup', version: 1, encryption: null })

test('an error of the store is reported without the key, and the existing backups stay', async (t) => {
  const { store, backUpNow } = await setUp(t)
  await backUpNow()
  const refuse = async (message: RegExp) => {
    await assert.rejects(backUpNow(), (error: Error) => {
      assert.match(error.message, message)
      assert.match(error.message, /^s3:\/\/barn\/north\/: /)
      const text = JSON.stringify([error.message, error.stack, String(error.cause)])
      assert.doesNotMatch(text, /AKIDOFATEST|secret\/of/)
      return true
    })
    store.trouble = () => undefined
  }
  store.settings.secret = 'another secret'
  await refuse(/does not accept the key/)
  store.settings.secret = 'secret/of+a/test'
  store.bucket = 'gone'
  await refuse(/there is no such bucket/)
  store.bucket = 'barn'
  store.trouble = (method) => (method === 'PUT' ? { status: 403, code: 'AccessDenied' } : undefined)
  await refuse(/does not allow this key to write/)
  store.trouble = () => ({ status: 301, headers: { location: 'https://eu.example.com/barn/?list-type=2' } })
  await refuse(/set CARTBARN_BACKUP_S3_ENDPOINT to https:\/\/eu\.example\.com$/)
  store.trouble = () => ({ status: 400, code: 'AuthorizationHeaderMalformed' })
  await refuse(/CARTBARN_BACKUP_S3_REGION/)
  store.trouble = () => ({ status: 200 })
  await refuse(/does not speak S3/)
  store.capacity = 0
  await refuse(/the store is full/)
  store.capacity = Number.POSITIVE_INFINITY
  assert.equal(names(store, 'snapshots').length, 1)
})

test('a store with temporary failures is retried, and a lasting failure is reported', async (t) => {
  const { store, backUpNow, restoreNow } = await setUp(t)
  let asked = 0
  store.trouble = (method) => {
    asked++
    if (asked % 3 === 0) return { status: 503, code: 'SlowDown' }
    return method === 'PUT' && asked % 3 === 1 ? { cutAfterBytes: 1 } : undefined
  }
  await backUpNow()
  store.trouble = () => undefined
  assert.equal(countEvents(await restoreNow()), 9000)
  for (const [trouble, message] of [
    [{ status: 500 }, /the store answered PUT with 500$/],
    [{ cutAfterBytes: 1 }, /the store cannot be reached/],
  ] as const) {
    store.objects.clear()
    store.trouble = (method) => (method === 'PUT' ? trouble : undefined)
    await assert.rejects(backUpNow(), { message })
    assert.deepEqual(names(store, 'snapshots'), [])
  }
})

test('a store that does not respond is awaited for a limited time', async (t) => {
  const { store, backUpNow } = await setUp(t)
  store.trouble = (method) => (method === 'PUT' ? 'hang' : undefined)
  await assert.rejects(backUpNow(place(store, { limitMs: 300, waitsMs: [] })), {
    message: /did not answer within 0\.3 s$/,
  })
})

test('a store that fails while a backup is checked loses no chunk of it', async (t) => {
  const { store, backUpNow } = await setUp(t)
  await backUpNow()
  const parts = names(store, 'blobs')
  const set = await BackupSet.open(place(store), 'nineteenth')
  const [snapshot] = await set.snapshots()
  const check = () => checkBackup(set, snapshot ?? assert.fail(), { isDue: () => true, rest: () => Promise.resolve() })
  store.trouble = (method, key) => (method === 'GET' && key.includes('blobs/') ? { status: 500 } : undefined)
  await assert.rejects(check(), { message: /answered GET with 500/ })
  store.trouble = () => undefined
  assert.deepEqual(names(store, 'blobs'), parts)
  await check()
  for (const name of parts) store.objects.set(name, Buffer.from('rust'))
  await assert.rejects(check(), { message: /chunks are missing or damaged/ })
  assert.deepEqual(names(store, 'blobs'), [])
})
