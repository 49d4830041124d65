import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { DATABASE_KINDS, sharedPostgres, whyNoPostgres } from '#hub/testing/databases.ts'
import { startPostgres } from '#hub/testing/start-postgres.ts'
import { UnavailableError } from '#shared/errors.ts'
import { createLog } from '#shared/log.ts'
import type { Database } from './database.ts'
import { FolderInUseError } from './folder-lock.ts'
import { openDatabase } from './open.ts'
import { PgliteDatabase } from './pglite.ts'
import { PostgresDatabase } from './postgres.ts'
import { createSchema, SCHEMA_VERSION, schemaStatements } from './schema.ts'

const log = createLog('silent')

for (const kind of DATABASE_KINDS) {
  describe(`a database of ${kind.name}`, { skip: kind.skip }, () => {
    let database: Database
    before(async () => {
      database = await kind.open()
      await database.run('CREATE TABLE thing (id BIGINT PRIMARY KEY, bytes BYTEA, label TEXT, flag BOOLEAN)')
    })
    after(() => database?.stop())

    test('returns integers as numbers and bytes as bytes, and accepts lists as parameters', async () => {
      const large = 2 ** 53 - 1
      const bytes = Uint8Array.from([0, 255, 92, 39])
      const inserted = await database.run('INSERT INTO thing VALUES ($1, $2, $3, $4), ($5, $6, $7, $8)', [
        large,
        bytes,
        "a 'b' \\ \u{1f6a9}",
        true,
        2,
        null,
        null,
        null,
      ])
      assert.equal(inserted, 2)
      const row = await database.get<{ id: number; bytes: Uint8Array; label: string; flag: boolean }>(
        'SELECT * FROM thing WHERE id = ANY($1) AND label = ANY($2)',
        [
          [large, 3],
          ["a 'b' \\ \u{1f6a9}", 'x{,"}'],
        ],
      )
      assert.equal(row?.id, large)
      assert.deepEqual(Uint8Array.from(row?.bytes ?? []), bytes)
      assert.equal(row?.label, "a 'b' \\ \u{1f6a9}")
      assert.equal(row?.flag, true)
      assert.deepEqual(await database.get('SELECT SUM(id) AS sum, COUNT(*) AS count FROM thing WHERE id < 3'), {
        sum: 2,
        count: 1,
      })
      assert.equal(await database.get('SELECT * FROM thing WHERE id = 77'), undefined)
      assert.equal(await database.run('UPDATE thing SET label = $1 WHERE id = $2', ['x', 2]), 1)
    })

    test('keeps no rows of a transaction that throws', async () => {
      const work = database.transaction(async (sql) => {
        await sql.run('INSERT INTO thing (id) VALUES (100)')
        throw new Error('no')
      })
      await assert.rejects(work, /^Error: no$/)
      assert.equal(await database.get('SELECT id FROM thing WHERE id = 100'), undefined)
    })

    test('retries a transaction that it aborted itself, but no other errors', async () => {
      await database.run('INSERT INTO thing (id, label) VALUES (200, NULL)')
      let attempts = 0
      const result = await database.transaction(async (sql) => {
        attempts++
        await sql.run('UPDATE thing SET label = $1 WHERE id = 200', [`attempt ${attempts}`])
        if (attempts < 3) await sql.run(`DO $$ BEGIN RAISE EXCEPTION 'again' USING ERRCODE = '40001'; END $$`)
        return attempts
      })
      assert.equal(result, 3)
      assert.deepEqual(await database.get('SELECT label FROM thing WHERE id = 200'), { label: 'attempt 3' })
      let failures = 0
      await assert.rejects(
        database.transaction(async (sql) => {
          failures++
          await sql.run('INSERT INTO thing (id) VALUES (200)')
        }),
        /duplicate key/,
      )
      assert.equal(failures, 1)
    })

    test('completes concurrent transactions that write the same rows in different orders', async () => {
      await database.run('INSERT INTO thing (id, label) VALUES (301, $1), (302, $1)', ['0'])
      await Promise.all(
        Array.from({ length: 12 }, (_, i) =>
          database.transaction(async (sql) => {
            for (const id of i % 2 === 0 ? [301, 302] : [302, 301]) {
              await sql.run('UPDATE thing SET label = CAST(CAST(label AS INTEGER) + 1 AS TEXT) WHERE id = $1', [id])
            }
          }),
        ),
      )
      assert.deepEqual(await database.all('SELECT label FROM thing WHERE id IN (301, 302)'), [
        { label: '12' },
        { label: '12' },
      ])
    })

    test('has a complete schema and its version', async () => {
      for (const statement of schemaStatements()) {
        const table = /^CREATE TABLE IF NOT EXISTS (\w+)/m.exec(statement)?.[1]
        if (table !== undefined) await database.all(`SELECT * FROM ${table} LIMIT 1`)
      }
      assert.deepEqual(await database.get('SELECT MAX(version) AS version FROM hub_schema_version'), {
        version: SCHEMA_VERSION,
      })
    })
  })
}

describe('PostgreSQL', { skip: whyNoPostgres() }, () => {
  test('allows several hubs to start together on an empty database', async () => {
    const url = await (await sharedPostgres()).createDatabase()
    const databases = Array.from({ length: 6 }, () => openDatabase({ url, dataDir: '', log }))
    try {
      await Promise.all(databases.map((database) => database.start()))
      await databases[0]?.get('SELECT * FROM site')
    } finally {
      for (const database of databases) await database.stop()
    }
  })

  test('keeps a hub from changing the tables of a later program', async () => {
    const url = await (await sharedPostgres()).createDatabase()
    const database = new PostgresDatabase({ url, log })
    try {
      await database.start()
      await database.run('INSERT INTO hub_schema_version VALUES (99)')
      await assert.rejects(database.start(), /version 99/)
    } finally {
      await database.stop()
    }
  })

  test('makes everything unavailable while the server is stopped, without data loss', async () => {
    const server = await startPostgres({ fsync: true })
    const database = new PostgresDatabase({ url: server.url, log })
    try {
      await database.start()
      await database.run('INSERT INTO hub_schema_version VALUES (-1)')
      const halfway = database.transaction(async (sql) => {
        await sql.run('INSERT INTO hub_schema_version VALUES (-2)')
        await server.kill()
        await sql.run('INSERT INTO hub_schema_version VALUES (-3)')
      })
      await assert.rejects(halfway, UnavailableError)
      await assert.rejects(database.get('SELECT 1'), UnavailableError)
      await server.restart()
      assert.deepEqual(await database.all('SELECT version FROM hub_schema_version WHERE version < 0'), [
        { version: -1 },
      ])
    } finally {
      await database.stop()
      await server.stop()
    }
  })
})

for (const kind of DATABASE_KINDS) {
  test(`gets missing columns for tables of version 1 and keeps their rows (${kind.name})`, {
    skip: kind.skip,
  }, async () => {
    const database = await kind.open()
    try {
      const columns = `'north', 'notes', 'n1', '', 1, 1, '{}'`
      await database.run('ALTER TABLE event DROP COLUMN seq')
      await database.run('ALTER TABLE site_latest DROP COLUMN restored_at_ms')
      await database.run('ALTER TABLE audit_entry DROP COLUMN row_sum')
      await database.run('ALTER TABLE audit_entry ALTER COLUMN body SET NOT NULL')
      await database.run('DROP TABLE erased_block')
      await database.run('ALTER TABLE hub_user DROP COLUMN mask_codes')
      await database.run(`INSERT INTO hub_user VALUES ('u', 'Jane', 'viewer', 'h', NULL, TRUE, 1)`)
      await database.run(`INSERT INTO site_latest VALUES ('north', 'cart-1', 1, '{}')`)
      await database.run(`INSERT INTO event VALUES (${columns})`)
      await database.run('UPDATE hub_schema_version SET version = 1')
      for (let start = 0; start < 2; start++) await createSchema(database)
      assert.deepEqual(await database.all('SELECT event_id, seq FROM event'), [{ event_id: 'n1', seq: null }])
      assert.deepEqual(await database.all('SELECT hardware_id, restored_at_ms FROM site_latest'), [
        { hardware_id: 'cart-1', restored_at_ms: null },
      ])
      assert.deepEqual(await database.all('SELECT * FROM erased_block'), [])
      assert.deepEqual(await database.all('SELECT name, mask_codes FROM hub_user'), [
        { name: 'Jane', mask_codes: false },
      ])
      await database.run(
        `INSERT INTO audit_entry (site_id, entry_id, epoch, seq, at_ms, action, row_sum)
           VALUES ('north', 'e', '', 1, 1, '', '00')`,
      )
      const { version } = (await database.get<{ version: number }>(
        'SELECT MAX(version) AS version FROM hub_schema_version',
      )) ?? { version: 0 }
      assert.equal(version, SCHEMA_VERSION)
    } finally {
      await database.stop()
    }
  })
}

describe('PGlite in a folder', () => {
  test('holds a handle from start to stop, because Node hangs if V8 threads wait without one', async () => {
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
    const dataDir = mkdtempSync(join(tmpdir(), 'cartbarn-hub-'))
    const before = timers()
    const database = new PgliteDatabase(dataDir)
    const starting = database.start()
    assert.equal(timers(), before + 1)
    await starting
    await database.stop()
    assert.equal(timers(), before)
    rmSync(dataDir, { recursive: true })
  })

  test('keeps its data and locks out a second process', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'cartbarn-hub-'))
    const first = openDatabase({ url: undefined, dataDir, log })
    try {
      await first.start()
      await first.run('INSERT INTO hub_schema_version VALUES (-1)')
      const second = new PgliteDatabase(dataDir)
      await assert.rejects(second.start(), FolderInUseError)
      await second.stop()
      await first.stop()
      await first.start()
      assert.deepEqual(await first.get('SELECT version FROM hub_schema_version WHERE version = -1'), { version: -1 })
    } finally {
      await first.stop()
      rmSync(dataDir, { recursive: true })
    }
  })
})
