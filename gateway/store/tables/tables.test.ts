import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'
import Database from 'better-sqlite3'
import { ENTITY_TABLES } from '#shared/wire/replication/replicated.ts'
import { checkedJson, cureOf, isNotJson } from '../damage/contents.ts'
import { Connection } from '../db/connection.ts'
import { storedRow } from '../db/table.ts'
import { migrate } from '../migrate.ts'
import { writes } from '../writer/writes.ts'
import { TABLES } from './all.ts'

function emptyDatabase(): Connection {
  const connection = new Connection(new Database(':memory:'))
  migrate(connection)
  return connection
}

test('each table of the database declares what happens when it is damaged', () => {
  const tables = emptyDatabase().all<{ name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table'")
  assert.deepEqual([...TABLES.keys()].sort(), tables.map(({ name }) => name).sort())
})

test('the declared repair statements are valid SQL for the tables', () => {
  const connection = emptyDatabase()
  for (const table of TABLES.values()) {
    for (const sql of table.care.afterLoss ?? []) connection.run(sql)
    for (const [column, json] of checkedJson(table)) {
      assert.deepEqual(connection.all(`SELECT 1 FROM ${table.name} WHERE ${isNotJson(column, json)}`), [])
      connection.run(cureOf(table.name, column, json))
    }
  }
})

test('the replicated tables are those of the protocol, with existing columns', () => {
  const connection = emptyDatabase()
  const replicated = [...TABLES.values()].filter((table) => table.replicated !== undefined)
  assert.deepEqual(replicated.map(({ name }) => name).sort(), [...ENTITY_TABLES].sort())
  for (const table of replicated) {
    assert.equal(storedRow(connection, table, 'none/0'), undefined)
    const { columns = [], flags = [], blobs = [], marks = [], times = [] } = table.replicated ?? {}
    for (const column of [...flags, ...blobs, ...marks, ...times]) assert.ok(columns.includes(column), column)
  }
})

test('columns named in a declaration exist in the table', () => {
  const connection = emptyDatabase()
  for (const { name, json = {}, erases, belongsTo } of TABLES.values()) {
    // the photo is sent as a part of the course
    const parsed = Object.keys(json).filter((column) => `${name}.${column}` !== 'course.photo')
    const columns = [...parsed, ...(erases?.json ?? []), ...(erases?.texts ?? []), ...(belongsTo?.slice(0, 1) ?? [])]
    for (const column of columns) connection.all(`SELECT ${name}.${column} FROM ${name}`)
  }
})

test('each exported write is found by its name, and no two modules share a name', async () => {
  const folders = [
    'tables',
    'calls',
    'mail-reports',
    'messages',
    'parties',
    'service',
    'telemetry',
    'ledger',
    'replication',
  ]
  const found: string[] = []
  for (const folder of folders) {
    for (const file of readdirSync(new URL(`../${folder}/`, import.meta.url))) {
      if (!file.endsWith('.ts') || file.endsWith('.test.ts') || file.endsWith('worker.ts')) continue
      const module: Record<string, unknown> = await import(`../${folder}/${file}`)
      for (const [name, value] of Object.entries(module))
        if (typeof value === 'function' && 'audit' in value) found.push(name)
    }
  }
  assert.deepEqual(found.sort(), Object.keys(writes).sort())
})
