import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import Database from 'better-sqlite3'
import { FIRST_MS, fillSchema, RECORDS, ROWS } from '#testing/rows-of-schema.ts'
import { recordKey, recordsIn } from '#testing/telemetry-tables.ts'
import { Connection, type Value } from '../db/connection.ts'
import { knownSchema, migrate } from '../migrate.ts'
import { openForSetup } from '../writer/open.ts'

type Row = Record<string, Value>

function databaseOf(t: TestContext, schema: number): Connection {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-schema-'))
  const connection = openForSetup(join(folder, 'cartbarn.db'))
  t.after(() => {
    connection.close()
    rmSync(folder, { recursive: true })
  })
  migrate(connection, schema)
  fillSchema(connection)
  return connection
}

function tablesOf(connection: Connection): string[] {
  const rows = connection.all<{ name: string }>(
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
  )
  return rows.map(({ name }) => name)
}

function rowsOf(connection: Connection, table: string): Row[] {
  return connection.db.prepare<[], Row>(`SELECT * FROM ${table}`).all()
}

/** Returns the expected row of a table after an upgrade from `schema`, where migrations change it. */
function expected(table: string, row: Row, schema: number): Row {
  if (schema < 9 && /^mqtt_(session|subscription|queued|received|will)$/.test(table))
    return row.client_id === 'cart-1' ? row : { ...row, client_id: `user:user-1/${row.client_id}` }
  if (schema < 9 && table === 'device')
    return row.mqtt_password_hash === 'shared'
      ? { ...row, mqtt_password_hash: '', is_on_shared_key: 1 }
      : { ...row, is_on_shared_key: 0 }
  // since then split into chunks, or renamed
  if (table === 'course_photo' && 'image' in row) return { ...row, image: null }
  if (table === 'course' && 'sent' in row) return { ...row, sent: null }
  // an entry that waits for one target has become a row with that target
  if (table === 'delivery' && 'target_id' in row) {
    const { target_id, delivery_id, ...kept } = row
    const targets = JSON.stringify({ [String(target_id)]: delivery_id })
    return { ...kept, targets, target_id: null, delivery_id: null }
  }
  if (schema < 10 && table === 'lock_event')
    return { ...row, identity: `short-${row.seq} ${row.identity}/unlock/${row.at_ms}` }
  return row
}

/** Tables whose rows a migration derives from others. */
const MADE = new Set(['change_log', 'block_log', 'telemetry_block', 'clock_mark', 'telemetry_log_end', 'migration'])

for (let schema = 1; schema <= knownSchema(); schema++) {
  test(`a database of schema ${schema} with rows in all tables is upgraded without loss`, (t) => {
    const connection = databaseOf(t, schema)
    const tables = tablesOf(connection)
    const before = new Map(tables.map((table) => [table, rowsOf(connection, table)]))
    for (const [table, rows] of before) assert.ok(rows.length > 0 || MADE.has(table), table)
    migrate(connection)
    assert.equal(connection.db.pragma('user_version', { simple: true }), knownSchema())
    assert.deepEqual(connection.all('PRAGMA quick_check'), [{ quickCheck: 'ok' }])
    assert.deepEqual(connection.all('PRAGMA foreign_key_check'), [])

    const now = new Set(tablesOf(connection))
    for (const [table, rows] of before) {
      if (!now.has(table)) assert.ok(['gps', 'battery'].includes(table), table)
      else if (!MADE.has(table)) assertKept(connection, table, rows, schema)
    }
    assertRecords(connection)
  })
}

/** Asserts that each row has its old values; new columns may have any. */
function assertKept(connection: Connection, table: string, rows: readonly Row[], schema: number): void {
  const after = rowsOf(connection, table)
  const names = Object.keys(rows[0] ?? {})
  const wanted = rows.map((row) => expected(table, row, schema))
  const columns = [...new Set([...names, ...wanted.flatMap((row) => Object.keys(row))])]
  const shown = (all: readonly Row[]) =>
    all.map((row) => JSON.stringify(columns.map((name) => row[name] ?? null))).sort()
  assert.deepEqual(shown(after), shown(wanted), table)
}

function assertRecords(connection: Connection): void {
  const records = recordsIn(connection)
  assert.equal(records.size, ROWS * RECORDS * 2)
  for (let deviceId = 1; deviceId <= ROWS; deviceId++)
    for (const stream of ['gps', 'battery'] as const)
      for (let i = 0; i < RECORDS; i++)
        assert.equal(records.get(recordKey(deviceId, stream, FIRST_MS + i * 1000)), 12_000 + i)
}

test('a database upgraded from any schema has the tables, indexes and triggers of a new one', () => {
  const schemaOf = (first: number) => {
    const connection = new Connection(new Database(':memory:'))
    migrate(connection, first)
    migrate(connection)
    const rows = connection.all<{ sql: string }>(
      'SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type, name',
    )
    connection.close()
    return rows
  }
  const wanted = schemaOf(knownSchema())
  for (let schema = 1; schema < knownSchema(); schema++) assert.deepEqual(schemaOf(schema), wanted)
})
