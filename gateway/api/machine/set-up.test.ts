import assert from 'node:assert/strict'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { backUp } from '#gateway/offline/backups.ts'
import { FakeClock } from '#shared/testing/clocks.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { DAY_MS } from '#shared/time.ts'
import { FilePlace } from '#store/backups/file-place.ts'
import { S3Place } from '#store/backups/s3/s3-place.ts'
import { dataFolder, newFolder, newSet, T0 } from '#testing/backup-sets.ts'
import { S3Server } from '#testing/s3-server.ts'
import { startGateway, type TestGateway } from '#testing/start-gateway.ts'

const PASSPHRASE = 'nineteenth'

/** Starts a new gateway that looks for sticks below a folder of another disk than its own. */
async function startNew(t: TestContext) {
  const disk = mkdtempSync('/dev/shm/cartbarn-stick-')
  t.after(() => rmSync(disk, { recursive: true, force: true }))
  const clock = new FakeClock()
  const g = await startGateway({}, { clock, stickRoots: [disk] })
  t.after(() => g.stop())
  return { g, clock, disk }
}

/** Creates a backup in one file. */
async function newFile(t: TestContext, passphrase?: string): Promise<Buffer> {
  const path = join(newFolder(t), 'one.backup')
  await backUp({ dataDir: dataFolder(t), to: FilePlace.toWrite(path), passphrase, atMs: T0 })
  return readFileSync(path)
}

function upload(g: TestGateway, offset: number, piece: Uint8Array) {
  return g.put(`/setup/upload?offset=${offset}`, piece, { headers: { 'content-type': 'application/octet-stream' } })
}

async function refusal(answer: ReturnType<TestGateway['post']>): Promise<[status: number, code: string]> {
  const { status, body } = await answer
  return [status, body.code]
}

const list = (g: TestGateway, from: object, passphrase?: string) => g.post('/setup/backups', { from, passphrase })

test('a set and a file on a stick are found and listed, and no other path is read', async (t) => {
  const { g, disk } = await startNew(t)
  const set = join(disk, 'anna', 'stick', 'cartbarn')
  cpSync(await newSet(t, PASSPHRASE), set, { recursive: true })
  const file = join(disk, 'anna', 'one.backup')
  writeFileSync(file, await newFile(t))
  writeFileSync(join(disk, 'other.txt'), 'not a backup of this program')
  const { sticks } = (await g.get('/setup/places')).body
  assert.deepEqual(sticks, [{ path: file }, { path: set }])

  const { status, body } = await list(g, { kind: 'stick', path: set }, PASSPHRASE)
  assert.equal(status, 200)
  const [{ number, at, is_encrypted, is_newer, devices, users, rows, bytes }, ...others] = body.backups
  assert.deepEqual(
    { number, at, is_encrypted, is_newer, devices, users },
    { number: 1, at: new Date(T0).toISOString(), is_encrypted: true, is_newer: false, devices: 1, users: 1 },
  )
  assert.ok(rows > 0 && bytes > 0)
  assert.deepEqual(others, [])
  assert.equal((await list(g, { kind: 'stick', path: file })).body.backups[0].is_encrypted, false)
  const elsewhere = await newSet(t)
  for (const path of [elsewhere, `${set}/../cartbarn`, '/etc', g.config.dataDir])
    assert.deepEqual(await refusal(list(g, { kind: 'stick', path })), [400, 'invalid_field'])
})

test('a folder on the disk of the data folder is not a stick', async (t) => {
  const g = await startGateway({}, { stickRoots: [join(await newSet(t), '..')] })
  t.after(() => g.stop())
  assert.deepEqual((await g.get('/setup/places')).body, { sticks: [], upload_bytes: 0 })
})

test('a wrong or missing passphrase is refused with the reason, and is in no answer', async (t) => {
  const { g, disk } = await startNew(t)
  cpSync(await newSet(t, PASSPHRASE), join(disk, 'set'), { recursive: true })
  const from = { kind: 'stick', path: join(disk, 'set') }
  for (const passphrase of ['a wrong guess', undefined]) {
    const { status, body } = await list(g, from, passphrase)
    assert.deepEqual([status, body.code], [409, 'backup_unreadable'])
    assert.match(body.detail, /passphrase/)
    assert.doesNotMatch(JSON.stringify(body), /wrong guess/)
  }
})

test('only one listing runs at a time', async (t) => {
  const { g, disk } = await startNew(t)
  cpSync(await newSet(t, PASSPHRASE), join(disk, 'set'), { recursive: true })
  const from = { kind: 'stick', path: join(disk, 'set') }
  const answers = await Promise.all([list(g, from, PASSPHRASE), list(g, from, PASSPHRASE)])
  const [one, other] = answers.sort((a, b) => a.status - b.status)
  assert.deepEqual([one?.status, other?.status, other?.body.code], [200, 409, 'listing_backups'])
  assert.equal((await list(g, from, PASSPHRASE)).status, 200)
})

test('an upload continues where it ends, begins again at 0, and is gone after a restart', async (t) => {
  const { g } = await startNew(t)
  const file = await newFile(t, PASSPHRASE)
  const path = join(g.config.dataDir, 'uploaded-backup')
  const half = Math.floor(file.length / 2)
  const [first, second] = [file.subarray(0, half), file.subarray(half)]
  assert.deepEqual((await upload(g, 0, first)).body, { success: true, upload_bytes: half })
  assert.equal(statSync(path).mode & 0o777, 0o600)
  for (const offset of [half - 1, half + 1, file.length]) {
    const { status, body } = await upload(g, offset, second)
    assert.deepEqual([status, body.code], [409, 'wrong_offset'])
    assert.ok(body.detail.includes(String(half)))
  }
  const { status, body } = await list(g, { kind: 'upload' }, PASSPHRASE)
  assert.deepEqual([status, body.code], [409, 'backup_unreadable'])
  assert.match(body.detail, /^the upload is cut off/)

  assert.equal((await upload(g, half, second)).body.upload_bytes, file.length)
  assert.equal((await g.get('/setup/places')).body.upload_bytes, file.length)
  assert.equal((await list(g, { kind: 'upload' }, PASSPHRASE)).body.backups.length, 1)

  const damaged = Buffer.from(file)
  damaged.writeUInt8(damaged.readUInt8(half) ^ 1, half)
  assert.equal((await upload(g, 0, damaged)).body.upload_bytes, file.length)
  assert.deepEqual(await refusal(list(g, { kind: 'upload' }, PASSPHRASE)), [409, 'backup_unreadable'])
  await g.restart()
  assert.equal(existsSync(path), false)
  assert.deepEqual(await refusal(list(g, { kind: 'upload' })), [409, 'backup_unreadable'])
})

test('a piece of more than 8 MiB is refused', async (t) => {
  const { g } = await startNew(t)
  assert.deepEqual(await refusal(upload(g, 0, new Uint8Array(8 * 1_048_576 + 1))), [413, 'payload_too_large'])
  assert.equal((await g.get('/setup/places')).body.upload_bytes, 0)
})

test('the backups of a bucket are listed; a wrong secret is refused and is in no answer', async (t) => {
  const { g } = await startNew(t)
  const store = await S3Server.open(t)
  const to = new S3Place({ bucket: 'barn', prefix: 'north/' }, store.settings)
  await backUp({ dataDir: dataFolder(t), to, passphrase: PASSPHRASE, atMs: T0 })
  const { endpoint, region, keyId: key_id, secret } = store.settings
  const bucket = { kind: 'bucket', endpoint, region, bucket: 'barn', prefix: 'north', key_id, secret }
  assert.equal((await list(g, bucket, PASSPHRASE)).body.backups[0].devices, 1)
  const refused = await list(g, { ...bucket, secret: 'not-the-secret' }, PASSPHRASE)
  assert.deepEqual([refused.status, refused.body.code], [409, 'backup_unreadable'])
  assert.doesNotMatch(JSON.stringify(refused.body), /not-the-secret/)
  for (const wrong of [{ endpoint: 'file:///etc' }, { bucket: '../x' }, { prefix: '../x' }])
    assert.deepEqual(await refusal(list(g, { ...bucket, ...wrong })), [400, 'invalid_field'])
})

test('a stop of the gateway ends the listing of a bucket that does not respond', async (t) => {
  const { g } = await startNew(t)
  const store = await S3Server.open(t)
  store.trouble = () => 'hang'
  const { endpoint, keyId: key_id, secret } = store.settings
  const listing = refusal(list(g, { kind: 'bucket', endpoint, bucket: 'barn', key_id, secret }))
  await eventually(() => store.requests.length > 0, 'no request')
  await g.restart()
  assert.deepEqual(await listing, [409, 'backup_unreadable'])
})

test('only the browser that sets up the gateway may, not another one of the same admin', async (t) => {
  const g = await startGateway({ CARTBARN_ADMIN_API_KEY: '' })
  t.after(() => g.stop())
  const text = readFileSync(join(g.config.dataDir, 'admin-key.txt'), 'utf8')
  const browser = await g.signIn({ code: /^setup code: (\S+)$/m.exec(text)?.[1] })
  assert.equal((await browser.request('GET', '/setup/places')).status, 200)
  const { user_id } = (await browser.me()).user
  const pairing = await browser.request('POST', '/pairing-codes', { body: { user_id, name: 'other' } })
  const other = await g.signIn({ code: pairing.body.code })
  for (const [method, path] of [
    ['GET', '/setup/places'],
    ['PUT', '/setup/upload?offset=0'],
    ['POST', '/setup/backups'],
  ] as const) {
    const { status, body } = await other.request(method, path, method === 'GET' ? {} : { body: {} })
    assert.deepEqual([status, body.code], [403, 'set_up_only'], path)
  }
})

test('a gateway with a device, or a day after the first use of a key, is not new', async (t) => {
  const { g, clock } = await startNew(t)
  assert.equal((await g.get('/setup/places')).status, 200)
  await g.register('cart-1')
  assert.deepEqual(await refusal(g.get('/setup/places')), [409, 'not_new'])
  assert.deepEqual(await refusal(upload(g, 0, new Uint8Array(1))), [409, 'not_new'])
  assert.deepEqual(await refusal(list(g, { kind: 'upload' })), [409, 'not_new'])
  await g.remove('/devices/cart-1')
  assert.equal((await g.get('/setup/places')).status, 200)
  clock.advance(DAY_MS + 1)
  const { body } = await g.get('/setup/places')
  assert.equal(body.code, 'not_new')
  assert.match(body.detail, /cartbarn restore/)
})
