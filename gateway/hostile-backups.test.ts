import assert from 'node:assert/strict'
import { existsSync, readdirSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { createZstdCompress, zstdCompressSync } from 'node:zlib'
import Database from 'better-sqlite3'
import { backUp } from '#gateway/offline/backups.ts'
import type { BackupManifest } from '#shared/wire/backups.ts'
import { BackupSet } from '#store/backups/backup-set.ts'
import { FolderPlace } from '#store/backups/folder-place.ts'
import { decodeRows } from '#store/backups/row-codec.ts'
import { quarantineUnparseable } from '#store/damage/contents.ts'
import { Connection } from '#store/db/connection.ts'
import { knownSchema, migrate } from '#store/migrate.ts'
import { detachBlocks } from '#store/telemetry/detached-blocks.ts'
import { withTemplate } from '#store/template.ts'
import { openForSetup } from '#store/writer/open.ts'
import { copyOf, newFolder, newSet, restoreSet, T0 } from '#testing/backup-sets.ts'
import { fillSchema } from '#testing/rows-of-schema.ts'

/** Schema version of the first release with backups. */
const FIRST_SCHEMA = 27

/** Replaces the manifest of an unencrypted set, as an attacker with write access to the stick could. */
async function forge(path: string, change: (manifest: BackupManifest) => unknown): Promise<void> {
  const place = new FolderPlace(path)
  await place.open()
  const set = await BackupSet.open(place, undefined)
  const [snapshot] = await set.snapshots()
  assert.ok(snapshot)
  const manifest = await set.readManifest(snapshot)
  const changed = change(manifest) ?? manifest
  writeFileSync(join(path, snapshot.name), zstdCompressSync(Buffer.from(JSON.stringify(changed))))
}

function schemaIn(db: Database.Database): string[] {
  return db.prepare<[], string>('SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY sql').pluck().all()
}

/** SQLite quotes the name of a renamed table. */
const headOf = (sql: string) => sql.replace(/ ?\(.*$/s, '').replaceAll('"', '')

const freshSchema = () => withTemplate(knownSchema(), ({ db }) => schemaIn(db))

test('the SQL of a set is neither executed nor kept', async (t) => {
  const outside = join(newFolder(t), 'elsewhere.db')
  const hostile: [string, string][] = [
    ['table', `ATTACH '${outside}' AS p; CREATE TABLE p.t (a)`],
    ['index', `VACUUM INTO '${outside}'`],
    ['trigger', "CREATE TRIGGER up AFTER INSERT ON user BEGIN UPDATE user SET role = 'admin'; END"],
    ['view', 'CREATE VIEW v AS SELECT * FROM user'],
    ['table', 'CREATE TABLE long AS WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c) SELECT i FROM c'],
    ['table', "INSERT INTO user (user_id) VALUES ('x')"],
    ['table', 'DROP TABLE user'],
    ['index', 'PRAGMA writable_schema = ON; DELETE FROM sqlite_schema'],
    ['table', 'no SQL at all'],
  ]
  const plain = await newSet(t)
  for (const [type, sql] of hostile) {
    const set = copyOf(t, plain)
    await forge(set, ({ statements }) => {
      statements.unshift({ type, name: 'x', sql })
      statements.push({ type, name: 'y', sql })
    })
    const { dataDir } = await restoreSet(t, set)
    assert.equal(existsSync(outside), false)
    const db = new Database(join(dataDir, 'cartbarn.db'))
    t.after(() => db.close())
    assert.deepEqual(schemaIn(db), freshSchema())
    assert.deepEqual(db.prepare('SELECT user_id, role FROM user').all(), [{ user_id: 'id-anna', role: 'user' }])
  }
})

test('a set whose tables do not match its schema is rejected; an unknown table is left out and named', async (t) => {
  const refused: [RegExp, (manifest: BackupManifest) => unknown][] = [
    [/table user has other columns/, ({ tables }) => tables.find(({ name }) => name === 'user')?.columns.push('x')],
    [
      /table user has other columns/,
      ({ tables }) => tables.find(({ name }) => name === 'user')?.columns.fill('role').length,
    ],
    [/table user is missing/, (m) => ({ ...m, tables: m.tables.filter(({ name }) => name !== 'user') })],
    [/a table occurs twice/, (m) => ({ ...m, tables: [...m.tables, ...m.tables] })],
    [/schema 0/, (m) => ({ ...m, schema: 0 })],
    [/schema 20/, (m) => ({ ...m, schema: 20 })],
    [/newer than this program/, (m) => ({ ...m, schema: 1000 })],
    [/is not in the format of this program/, (m) => ({ ...m, atMs: 9e15 })],
    [/is not in the format of this program/, (m) => ({ ...m, schema: -1 })],
    [/is not in the format of this program/, () => [[[]]]],
    [/missing/, (m) => ({ ...m, tables: [] })],
    [
      /is missing/,
      (m) => ({
        ...m,
        tables: [...m.tables, { ...(m.tables[0] ?? {}), name: 'damaged_telemetry_block_7', columns: ['block_id'] }],
      }),
    ],
  ]
  const plain = await newSet(t)
  for (const [message, change] of refused) {
    const set = copyOf(t, plain)
    await forge(set, (manifest) => {
      const changed = change(manifest)
      return typeof changed === 'object' ? changed : undefined
    })
    await assert.rejects(restoreSet(t, set), { message })
  }
  const set = copyOf(t, plain)
  await forge(set, (m) => ({
    ...m,
    program: 'cartbarn \u001b]0;own\u0007',
    tables: [...m.tables, { name: 'x"; DROP TABLE user; --', columns: ['a'], rows: 0, bytes: 0, chunks: [] }],
  }))
  const { leftOut, manifest } = await restoreSet(t, set)
  assert.deepEqual(leftOut, ['x"; DROP TABLE user; --'])
  assert.equal(manifest.program, 'cartbarn  ]0;own ')
})

test('backups of every earlier schema are restored row by row, including detached tables', async (t) => {
  for (let schema = FIRST_SCHEMA; schema <= knownSchema(); schema++) {
    const data = newFolder(t)
    const before = openForSetup(join(data, 'cartbarn.db'))
    migrate(before, schema)
    fillSchema(before)
    if (schema === knownSchema()) {
      before.db.exec("UPDATE geofence_set SET zones = 'no JSON'")
      assert.equal(quarantineUnparseable(before).length, 1)
      for (let n = 0; n < 2; n++) before.db.transaction(() => detachBlocks(before)).immediate()
    }
    const detached = before
      .all<{ name: string }>(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB 'damaged_*_[0-9]' ORDER BY name",
      )
      .map(({ name }) => name)
    assert.equal(detached.length, schema === knownSchema() ? 3 : 0)
    before.close()
    const set = join(newFolder(t), 'set')
    const made = await backUp({ dataDir: data, to: new FolderPlace(set), atMs: T0 })
    const { dataDir, leftOut } = await restoreSet(t, set)
    assert.deepEqual(leftOut, [])
    const expected = new Connection(new Database(join(data, 'cartbarn.db')))
    migrate(expected)
    const restored = new Database(join(dataDir, 'cartbarn.db'))
    assert.deepEqual(schemaIn(restored).map(headOf).sort(), schemaIn(expected.db).map(headOf).sort())
    assert.ok(made.rows > 30)
    for (const table of ['user', 'device', 'telemetry_block', 'lock_event', 'audit_entry', 'alert', ...detached])
      assert.deepEqual(
        restored.prepare(`SELECT * FROM ${table} ORDER BY 1`).all(),
        expected.db.prepare(`SELECT * FROM ${table} ORDER BY 1`).all(),
      )
    restored.close()
    expected.close()
  }
})

test('a small chunk that unpacks to any size uses no more memory than the declared or maximum size', async (t) => {
  const bomb = await zerosPacked(900)
  const blob = (set: string) =>
    join(
      set,
      'blobs',
      readdirSync(join(set, 'blobs'), { recursive: true, encoding: 'utf8' }).find((name) => name.length === 67) ?? '',
    )
  const manifestOf = (set: string) => join(set, 'snapshots', readdirSync(join(set, 'snapshots'))[0] ?? '')
  const attempts: ((set: string) => unknown)[] = [
    (set) => writeFileSync(blob(set), bomb),
    // a manifest that claims so
    async (set) => {
      await forge(set, ({ tables }) => {
        for (const table of tables) Object.assign(table, { bytes: 1e7 })
      })
      writeFileSync(blob(set), bomb)
    },
    (set) => writeFileSync(manifestOf(set), bomb),
    (set) => truncateSync(blob(set), 20 * 2 ** 30),
    (set) => truncateSync(manifestOf(set), 20 * 2 ** 30),
    (set) => truncateSync(join(set, 'cartbarn-backup.json'), 20 * 2 ** 30),
  ]
  const plain = await newSet(t)
  for (const attempt of attempts) {
    const set = copyOf(t, plain)
    await attempt(set)
    const peakBefore = process.resourceUsage().maxRSS
    await assert.rejects(restoreSet(t, set), { message: /damaged or was altered|more than this program writes/ })
    const grownMb = (process.resourceUsage().maxRSS - peakBefore) / 1024
    assert.ok(grownMb < 150, `${grownMb} MB`)
  }
})

async function zerosPacked(megabytes: number): Promise<Buffer> {
  const zeros = Buffer.alloc(1 << 20)
  const packed: Buffer[] = []
  const source = Readable.from(Array.from({ length: megabytes }, () => zeros))
  for await (const piece of source.pipe(createZstdCompress())) packed.push(piece)
  return Buffer.concat(packed)
}

test('rows with impossible lengths are rejected without a loop', () => {
  for (const length of [-9, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 1e9]) {
    const row = Buffer.alloc(9)
    row[0] = 4
    row.writeDoubleLE(length, 1)
    assert.throws(() => [...decodeRows(row, 1)], RangeError, String(length))
  }
})
