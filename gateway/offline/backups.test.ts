import assert from 'node:assert/strict'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import Database from 'better-sqlite3'
import { createRandom } from '#shared/random.ts'
import { BlockTable } from '#testing/block-table.ts'
import { backupPlaceOf } from './backup-places.ts'
import { backUp } from './backups.ts'
import { restoreBackup } from './restore.ts'

const T0 = Date.UTC(2026, 4, 1)
const folder = mkdtempSync(join(tmpdir(), 'cartbarn-backups-'))
after(() => rmSync(folder, { recursive: true, force: true }))

/** a course with history, events, users and devices, in the state that a stopped gateway leaves */
const whole = join(folder, 'whole.db')
makeWhole()

function makeWhole(): void {
  const table = new BlockTable(whole)
  for (let device = 1; device <= 12; device++) {
    const id = table.newDevice()
    for (let day = 0; day < 20; day++)
      table.addBlock(
        id,
        'gps',
        Array.from({ length: 900 }, (_, i) => T0 + day * 86_400_000 + i * (900 + device)),
      )
    table.log(id, 'battery', [T0 + 30 * 86_400_000 + device])
  }
  table.connection.db.exec(`
    WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 9000)
      INSERT INTO lock_event (event_id, hardware_id, identity, event, source, at_ms, metadata)
      SELECT 'e' || i, 'cart-' || (i % 12), 'i' || i, 'unlock', 'rfid', i, hex(randomblob(40)) FROM c;
    INSERT INTO mqtt_retained VALUES ('t/blob', x'00ff', 1, NULL), ('t/text', 'ü', 1, NULL), ('t/real', 1.0, 1, NULL),
      ('t/large', 9007199254740993, 1, NULL);
    INSERT INTO course VALUES (1, 1, NULL, 'features', NULL, 5);
    UPDATE sync_identity SET site = 'north'; INSERT INTO sync_cursor VALUES ('telemetry', 5, 'x')`)
  for (const user of ['anna', 'ben', 'cleo']) addUser(table.connection.db, user)
  table.close()
}

function addUser(db: Database.Database, name: string): void {
  db.prepare(
    `INSERT INTO user (user_id, name, role, is_active, key_hash, created_at_ms, updated_at_ms, last_reset_ms)
     VALUES (?, ?, 'staff', 1, ?, 1, 1, 1)`,
  ).run(`id-${name}`, name, `key-of-${name}`)
  db.prepare('INSERT INTO session VALUES (?, ?, ?, ?, 1, 1)').run(`tablet-${name}`, `id-${name}`, 'tablet', `t-${name}`)
}

function dataFolder(t: TestContext): string {
  const data = mkdtempSync(join(folder, 'data-'))
  copyFileSync(whole, join(data, 'cartbarn.db'))
  t.after(() => rmSync(data, { recursive: true, force: true }))
  return data
}

function emptyFolder(t: TestContext): string {
  const empty = mkdtempSync(join(folder, 'empty-'))
  t.after(() => rmSync(empty, { recursive: true, force: true }))
  return empty
}

function change(data: string, sql: string): void {
  const db = new Database(join(data, 'cartbarn.db'))
  db.exec(sql)
  db.close()
}

/** Reads every row of every table, by table, without the values that a restore replaces. */
function contentOf(path: string): Map<string, string[]> {
  const db = new Database(path, { readonly: true })
  const tables = db
    .prepare<[], string>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT IN ('sync_identity', 'sync_cursor')",
    )
    .pluck()
    .all()
  const rows = (table: string) =>
    db
      .prepare(`SELECT * FROM "${table}"`)
      .raw()
      .safeIntegers()
      .all()
      .map((row) => JSON.stringify(row, (_, value) => (typeof value === 'bigint' ? `${value}n` : value)))
      .sort()
  const content = new Map(tables.map((table) => [table, rows(table)]))
  content.set(
    'schema',
    db.prepare<[], string>('SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL').pluck().all().sort(),
  )
  db.close()
  return content
}

const dbOf = (data: string) => join(data, 'cartbarn.db')
const read = (path: string) => backupPlaceOf(path, 'read')

for (const passphrase of [undefined, 'nineteenth hole']) {
  test(`restores a database by rows from ${passphrase === undefined ? 'a plain' : 'an encrypted'} file`, async (t) => {
    const data = dataFolder(t)
    const file = join(emptyFolder(t), 'course.backup')
    const made = await backUp({ dataDir: data, to: file, passphrase, atMs: T0 })
    assert.equal(made.isEncrypted, passphrase !== undefined)
    assert.equal(statSync(file).mode & 0o077, 0)
    const moved = emptyFolder(t)
    const restored = await restoreBackup({ dataDir: moved, from: read(file), passphrase, atMs: T0 })
    assert.deepEqual([restored.keptIn, restored.lost, restored.carriedOver], [null, [], null])
    assert.deepEqual(contentOf(dbOf(moved)), contentOf(whole))
    const db = new Database(dbOf(moved), { readonly: true })
    const identity = db.prepare('SELECT epoch, site, forked_from FROM sync_identity').get()
    const before = new Database(whole, { readonly: true }).prepare('SELECT epoch FROM sync_identity').pluck().get()
    db.close()
    assert.partialDeepStrictEqual(identity, {
      site: 'north',
      forked_from: JSON.stringify({
        epoch: before,
        reason: `restored from the backup of ${new Date(T0).toISOString()}`,
      }),
    })
    assert.deepEqual(readdirSync(moved).sort(), ['cartbarn.db', 'cartbarn.db-sums', 'cartbarn.lock'])
    if (passphrase !== undefined) assert.equal(readFileSync(file).includes('cart-1'), false)
  })
}

test('a folder gets only new chunks, keeps the set number of backups and loses none of their chunks', async (t) => {
  const data = dataFolder(t)
  const sets = join(emptyFolder(t), 'sets')
  const order = { dataDir: data, passphrase: 'p', atMs: T0, keep: 2 }
  const first = await backUp({ ...order, to: backupPlaceOf(`${sets}/`, 'write') })
  const table = new BlockTable(dbOf(data))
  table.addBlock(
    1,
    'gps',
    Array.from({ length: 900 }, (_, i) => T0 + 40 * 86_400_000 + i * 1000),
  )
  table.close()
  // a clock that is off by years does not make a backup older than the others
  const second = await backUp({ ...order, atMs: 0, to: backupPlaceOf(`${sets}/`, 'write') })
  assert.ok(second.newBytes < first.newBytes, `${second.newBytes} of ${first.newBytes} bytes`)
  change(data, 'DELETE FROM telemetry_block WHERE device_id > 3')
  const third = await backUp({ ...order, to: backupPlaceOf(`${sets}/`, 'write') })
  assert.deepEqual([second.removed, third.removed], [0, 1])
  assert.deepEqual(
    readdirSync(join(sets, 'snapshots')).map((name) => name.slice(0, 6)),
    ['000002', '000003'],
  )
  const wanted = contentOf(dbOf(data))
  for (const [number, count] of [
    [2, 241],
    [3, 61],
  ] as const) {
    const to = emptyFolder(t)
    await restoreBackup({ dataDir: to, from: read(sets), passphrase: 'p', number, atMs: T0 })
    assert.equal(contentOf(dbOf(to)).get('telemetry_block')?.length, count)
    if (number === 3) assert.deepEqual(contentOf(dbOf(to)), wanted)
  }
  await assert.rejects(
    restoreBackup({ dataDir: emptyFolder(t), from: read(sets), passphrase: 'p', number: 1, atMs: T0 }),
    { message: `${sets} has no backup 1; it has 2, 3` },
  )
})

test('backups of another gateway block the folder, and a restored gateway continues with its own', async (t) => {
  const sets = join(emptyFolder(t), 'sets')
  const order = { passphrase: 'p', atMs: T0, to: backupPlaceOf(`${sets}/`, 'write') }
  await backUp({ ...order, dataDir: dataFolder(t) })
  const other = emptyFolder(t)
  copyFileSync(whole, dbOf(other))
  change(other, "UPDATE user SET user_id = 'other-' || user_id")
  const before = readdirSync(sets, { recursive: true }).sort()
  await assert.rejects(backUp({ ...order, dataDir: other }), { message: /backups of another gateway/ })
  assert.deepEqual(readdirSync(sets, { recursive: true }).sort(), before)
  const moved = emptyFolder(t)
  await restoreBackup({ dataDir: moved, from: read(sets), passphrase: 'p', atMs: T0 })
  assert.equal((await backUp({ ...order, dataDir: moved })).number, 2)
})

test('a damaged chunk is found, reported and written again', async (t) => {
  const data = dataFolder(t)
  const sets = join(emptyFolder(t), 'sets')
  const again = () => backUp({ dataDir: data, to: backupPlaceOf(`${sets}/`, 'write'), passphrase: 'p', atMs: T0 })
  await again()
  for (const name of readdirSync(join(sets, 'blobs'), { recursive: true, encoding: 'utf8' }))
    if (name.length > 60) writeFileSync(join(sets, 'blobs', name), 'rust')
  await assert.rejects(restoreBackup({ dataDir: emptyFolder(t), from: read(sets), passphrase: 'p', atMs: T0 }), {
    message: /^a chunk of the backup is damaged or was altered/,
  })
  // each backup verifies a seventh of the existing ones; a failed backup gets no number
  let steps = 0
  for (let i = 0; i < 14; i++)
    await again().catch((error: Error) => {
      assert.match(error.message, /chunks are missing or damaged/)
      steps++
    })
  assert.ok(steps > 0)
  await again()
  const to = emptyFolder(t)
  await restoreBackup({ dataDir: to, from: read(sets), passphrase: 'p', atMs: T0 })
  assert.deepEqual(contentOf(dbOf(to)), contentOf(whole))
})

test('an incomplete or foreign backup is rejected with an explanation, and changes nothing', async (t) => {
  const data = dataFolder(t)
  const at = emptyFolder(t)
  const file = join(at, 'course.backup')
  await backUp({ dataDir: data, to: file, passphrase: 'right', atMs: T0 })
  const before = readFileSync(dbOf(data))
  const size = statSync(file).size
  const random = createRandom('altered')
  const refuse = async (path: string, message: RegExp, passphrase?: string) => {
    await assert.rejects(
      restoreBackup({ dataDir: data, from: read(path), passphrase, isForced: true, atMs: T0 }),
      (error: Error) => message.test(error.message) || assert.fail(error.message),
    )
    assert.deepEqual(readFileSync(dbOf(data)), before)
    assert.deepEqual(
      readdirSync(data).filter((name) => !name.startsWith('cartbarn.db-')),
      ['backup.lock', 'cartbarn.db', 'cartbarn.lock'],
    )
  }
  await refuse(file, /^the passphrase is not the one/, 'wrong')
  await refuse(file, /^the backup is encrypted: give the passphrase/)
  await refuse(join(at, 'none.backup'), /none.backup: it does not exist$/)
  await refuse(at, /has no backup of cartbarn$/)
  await refuse(whole, /is not a backup of cartbarn$/)
  const altered = join(at, 'altered.backup')
  for (let i = 0; i < 25; i++) {
    const bytes = readFileSync(file)
    const place = Math.floor(random.next() * size)
    bytes[place] = (bytes[place] ?? 0) ^ (1 << Math.floor(random.next() * 8))
    writeFileSync(altered, bytes)
    await refuse(altered, /is not a backup of cartbarn|cut off|was altered|checksum/, 'right')
    copyFileSync(file, altered)
    truncateSync(altered, Math.floor(random.next() * size))
    await refuse(altered, /is not a backup of cartbarn|cut off/, 'right')
  }
})

test('a backup of a newer program is rejected, and the program named', async (t) => {
  const data = dataFolder(t)
  change(data, 'PRAGMA user_version = 999')
  const file = join(emptyFolder(t), 'newer.backup')
  await backUp({ dataDir: data, to: file, atMs: T0 })
  await assert.rejects(restoreBackup({ dataDir: emptyFolder(t), from: read(file), atMs: T0 }), {
    message: /^the backup was made by cartbarn .* \(schema 999\), which is newer than this program/,
  })
})

test('data that the backup lacks is replaced only with --force, and then still kept in a copy', async (t) => {
  const data = dataFolder(t)
  const file = join(emptyFolder(t), 'course.backup')
  await backUp({ dataDir: data, to: file, atMs: T0 })
  change(
    data,
    "INSERT INTO lock_event (event_id, hardware_id, identity, event, source, at_ms) VALUES ('new', 'c', 'i', " +
      "'lock', 'rfid', 0)",
  )
  const newer = contentOf(dbOf(data))
  const order = { dataDir: data, from: read(file), atMs: T0 }
  await assert.rejects(restoreBackup(order), { message: /lacks: 1 lock events; --force replaces it/ })
  assert.deepEqual(contentOf(dbOf(data)), newer)
  const { keptIn, lost } = await restoreBackup({ ...order, from: read(file), isForced: true })
  assert.deepEqual(lost, ['1 lock events'])
  assert.deepEqual(contentOf(join(keptIn ?? '', 'cartbarn.db')), newer)
  assert.equal(contentOf(dbOf(data)).get('lock_event')?.length, 9000)
})

test('revoked access stays revoked after a restore, and changes that cannot be kept are listed', async (t) => {
  const data = dataFolder(t)
  const file = join(emptyFolder(t), 'course.backup')
  await backUp({ dataDir: data, to: file, atMs: T0 })
  change(
    data,
    `DELETE FROM user WHERE name = 'anna'; DELETE FROM session WHERE user_id IN ('id-anna', 'id-ben');
     UPDATE user SET key_hash = 'rotated', is_active = 0 WHERE name = 'ben';
     DELETE FROM device WHERE hardware_id = 'cart-3';
     UPDATE device SET mqtt_password_hash = 'new' WHERE hardware_id = 'cart-4';
     INSERT INTO audit_entry (entry_id, at_ms, action, target) VALUES ('a', 0, 'telemetry.purged', 'cart-5')`,
  )
  const { carriedOver } = await restoreBackup({ dataDir: data, from: read(file), isForced: true, atMs: T0 })
  const db = new Database(dbOf(data), { readonly: true })
  t.after(() => db.close())
  const users = db.prepare('SELECT name, key_hash AS key, is_active AS active FROM user ORDER BY name').all()
  assert.deepEqual(users, [
    { name: 'ben', key: 'rotated', active: 0 },
    { name: 'cleo', key: 'key-of-cleo', active: 1 },
  ])
  assert.deepEqual(db.prepare('SELECT session_id FROM session').pluck().all(), ['tablet-cleo'])
  const password = db.prepare('SELECT mqtt_password_hash FROM device WHERE hardware_id = ?').pluck()
  assert.equal(password.get('cart-4'), 'new')
  assert.match(String(password.get('cart-3')), /^[0-9a-f]{64}$/)
  assert.equal(password.get('cart-1'), 'x')
  assert.deepEqual(carriedOver?.kept, [
    'user anna: was deleted since, and stays deleted',
    'user ben: key, active or not as now',
    '2 browsers that were signed out since stay signed out',
    'device cart-3: was removed since; it is back with its history, and its password is invalid: remove it again',
    'device cart-4: password as now',
  ])
  assert.deepEqual(carriedOver?.rest, ['1970-01-01T00:00:00.000Z telemetry.purged cart-5: do it again'])
})

test('restoring over the database of another gateway revokes no access, and needs --force', async (t) => {
  const file = join(emptyFolder(t), 'course.backup')
  await backUp({ dataDir: dataFolder(t), to: file, atMs: T0 })
  const other = emptyFolder(t)
  const table = new BlockTable(dbOf(other))
  table.newDevice()
  table.close()
  const order = { dataDir: other, atMs: T0 }
  await assert.rejects(restoreBackup({ ...order, from: read(file) }), { message: /history differs/ })
  const { carriedOver } = await restoreBackup({ ...order, from: read(file), isForced: true })
  assert.deepEqual(carriedOver, { isSameGateway: false, kept: [], rest: [] })
  assert.deepEqual(contentOf(dbOf(other)), contentOf(whole))
})

test('a backup is a consistent snapshot, whatever is written meanwhile', async (t) => {
  const data = dataFolder(t)
  const file = join(emptyFolder(t), 'course.backup')
  change(data, 'PRAGMA journal_mode = WAL; CREATE TABLE pair (a INTEGER, b INTEGER); INSERT INTO pair VALUES (0, 0)')
  const writer = new Database(dbOf(data))
  let writes = 0
  const writing = setInterval(() => {
    writer.exec(`UPDATE pair SET a = a + 1; UPDATE pair SET b = b + 1;
      BEGIN; INSERT INTO lock_event (event_id, hardware_id, identity, event, source, at_ms)
        VALUES ('x${writes}', 'c', 'x${writes}', 'lock', 'rfid', 0);
      UPDATE command_count SET commands = commands + 1; COMMIT`)
    writes++
  }, 1)
  t.after(() => clearInterval(writing))
  const made = await backUp({ dataDir: data, to: file, atMs: T0, isGentle: true })
  assert.ok(writes > 5, `${writes} writes beside it`)
  clearInterval(writing)
  writer.close()
  assert.ok(made.rows > 9000)
  const to = emptyFolder(t)
  await restoreBackup({ dataDir: to, from: read(file), atMs: T0 })
  const db = new Database(dbOf(to), { readonly: true })
  t.after(() => db.close())
  const sums = db
    .prepare(
      "SELECT (SELECT count(*) FROM lock_event WHERE event_id LIKE 'x%') AS events, (SELECT commands FROM " +
        'command_count) AS counted',
    )
    .get()
  assert.ok(typeof sums === 'object' && sums !== null && 'events' in sums && 'counted' in sums)
  assert.equal(sums.events, sums.counted)
})

test('a folder for disks without a mounted disk is rejected before any write', async (t) => {
  const data = dataFolder(t)
  const place = `/mnt/cartbarn-test-${process.pid}/`
  await assert.rejects(backUp({ dataDir: data, to: backupPlaceOf(place, 'write'), atMs: T0 }), {
    message: /^no disk is mounted at/,
  })
  assert.equal(existsSync(place), false)
})

test('a folder replaced during the backup is not written to any further', async (t) => {
  const data = dataFolder(t)
  const sets = join(emptyFolder(t), 'sets')
  const place = backupPlaceOf(`${sets}/`, 'write')
  const { write } = place
  let writes = 0
  place.write = async (name, content) => {
    if (++writes === 3) {
      rmSync(sets, { recursive: true })
      mkdirSync(sets)
    }
    return write.call(place, name, content)
  }
  await assert.rejects(backUp({ dataDir: data, to: place, atMs: T0 }), {
    message: /check that the disk is connected$/,
  })
  assert.deepEqual(readdirSync(sets), [])
})
