import assert from 'node:assert/strict'
import { test } from 'node:test'
import Database from 'better-sqlite3'
import { asFields, Connection } from './connection.ts'

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
