import assert from 'node:assert/strict'
import { readdirSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import Database from 'better-sqlite3'
import { newFolder } from '#testing/backup-sets.ts'
import { NewDatabase } from '../replace/new-database.ts'
import { openForSetup, openWriter } from '../writer/open.ts'
import { asFields, Connection, openReader, openUncheckedReader } from './connection.ts'

test('rows have the columns as fields, by either way', (t) => {
  const connection = new Connection(new Database(':memory:'))
  t.after(() => connection.close())
  connection.db.exec('CREATE TABLE row (at_ms, lat_e7, name, is_on, group_id)')
  connection.run("INSERT INTO row VALUES (1, 2, 'x_y', 1, 0), (3, NULL, NULL, 0, 7)")
  const columns = `at_ms, lat_e7,
    name, nullif(group_id, 0) AS groupId, is_on AS isThere`
  const rows = [
    { atMs: 1, latE7: 2, name: 'x_y', groupId: null, isThere: 1 },
    { atMs: 3, latE7: null, name: null, groupId: 7, isThere: 0 },
  ]
  assert.deepEqual(connection.all(`SELECT ${columns} FROM row`), rows)
  assert.deepEqual(connection.get(`SELECT ${columns} FROM row`), rows[0])
  assert.deepEqual(connection.statement(`SELECT ${asFields(columns)} FROM row`).all(), rows)
  assert.equal(connection.get('SELECT at_ms FROM row WHERE at_ms = 9'), undefined)
  assert.deepEqual(connection.statement('SELECT at_ms, name FROM row').get(), { at_ms: 1, name: 'x_y' })
})

const OPENERS = {
  openReader,
  openUncheckedReader,
  openWriter,
  openWriterUnchecked: (path: string) => openWriter(path, false),
  openForSetup,
  NewDatabase: (path: string) => new NewDatabase(path, false),
}

for (const [name, open] of Object.entries(OPENERS))
  test(`${name} leaves no open file behind when the database cannot be read`, (t) => {
    const path = join(newFolder(t), 'cartbarn.db')
    writeFileSync(path, Buffer.alloc(8192, 'no database'))
    assert.throws(() => open(path), { code: 'SQLITE_NOTADB' })
    const leftOpen = readdirSync('/proc/self/fd').filter((number) => linkOf(number)?.startsWith(path))
    assert.deepEqual(leftOpen, [])
  })

function linkOf(number: string): string | null {
  try {
    return readlinkSync(`/proc/self/fd/${number}`)
  } catch {
    // the descriptor of the listing itself
    return null
  }
}
