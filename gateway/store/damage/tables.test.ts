import assert from 'node:assert/strict'
import { test } from 'node:test'
import Database from 'better-sqlite3'
import { Connection } from '../db/connection.ts'
import { migrate } from '../migrate.ts'
import { isNotJson } from './contents.ts'
import { TABLES } from './tables.ts'

function emptyDatabase(): Connection {
  const connection = new Connection(new Database(':memory:'))
  migrate(connection)
  return connection
}

test('for each table of the database it is said what is done when it is damaged', () => {
  const tables = emptyDatabase().all<{ name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table'")
  assert.deepEqual(Object.keys(TABLES).sort(), tables.map(({ name }) => name).sort())
})

test('what is done is SQL that fits the tables', () => {
  const connection = emptyDatabase()
  for (const [table, { afterLoss = [], json = [] }] of Object.entries(TABLES)) {
    for (const sql of afterLoss) connection.run(sql)
    for (const column of json) {
      assert.deepEqual(connection.all(`SELECT 1 FROM ${table} WHERE ${isNotJson(column)}`), [])
      if (column.cure !== 'delete') connection.run(`UPDATE ${table} SET ${column.cure.set}`)
    }
  }
})
