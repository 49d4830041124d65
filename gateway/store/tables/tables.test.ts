import assert from 'node:assert/strict'
import { test } from 'node:test'
import Database from 'better-sqlite3'
import { checkedJson, cureOf, isNotJson } from '../damage/contents.ts'
import { Connection } from '../db/connection.ts'
import { migrate } from '../migrate.ts'
import { TABLES } from './all.ts'

function emptyDatabase(): Connection {
  const connection = new Connection(new Database(':memory:'))
  migrate(connection)
  return connection
}

test('for each table of the database it is said what is done when it is damaged', () => {
  const tables = emptyDatabase().all<{ name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table'")
  assert.deepEqual([...TABLES.keys()].sort(), tables.map(({ name }) => name).sort())
})

test('what is done is SQL that fits the tables', () => {
  const connection = emptyDatabase()
  for (const table of TABLES.values()) {
    for (const sql of table.care.afterLoss ?? []) connection.run(sql)
    for (const [column, json] of checkedJson(table)) {
      assert.deepEqual(connection.all(`SELECT 1 FROM ${table.name} WHERE ${isNotJson(column, json)}`), [])
      connection.run(cureOf(table.name, column, json))
    }
  }
})
