import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import Database from 'better-sqlite3'
import { Connection } from '../db/connection.ts'
import { matchRoots, type SchemaEntry } from './match-roots.ts'
import { RawPages } from './raw-pages.ts'

const OTHER = 'CREATE TABLE other (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT'
const NUMBERS = 'CREATE TABLE numbers (id INTEGER PRIMARY KEY, n INTEGER NOT NULL) STRICT'
/** These two have the same shape. */
const TWINS = ['left', 'right'].map((name) => `CREATE TABLE ${name} (id INTEGER PRIMARY KEY, x REAL NOT NULL) STRICT`)
const AS_MADE = [OTHER, NUMBERS, ...TWINS]
/** As it is after a table was begun anew. */
const ANOTHER_ORDER = [...TWINS.toReversed(), NUMBERS, OTHER]

const ENTRIES = 'SELECT type, name, tbl_name AS "table", rootpage AS root, sql FROM sqlite_schema ORDER BY rowid'

/**
 * What is found of a database with these tables and rows of which only the entry of `other` is left; and where it is.
 */
function find(t: TestContext, tables: readonly string[], rows: string): [unknown, unknown] {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-roots-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const template = open(':memory:', AS_MADE)
  const damaged = open(join(folder, 'damaged.db'), tables)
  damaged.db.exec(rows)
  const isOther = ({ name }: SchemaEntry) => name === 'other'
  const there = damaged.all<SchemaEntry>(ENTRIES)
  damaged.close()
  const pages = new RawPages(join(folder, 'damaged.db'))
  const expected = template.all<SchemaEntry>(ENTRIES)
  const known = there.filter(isOther)
  const missing = expected.filter((entry) => !isOther(entry))
  const found = matchRoots(pages, { template, expected, known, missing })
  pages.close()
  template.close()
  const rootsOf = (entries: readonly (readonly [string, number])[]) =>
    Object.fromEntries(entries.filter(([name]) => name !== 'other'))
  return [
    rootsOf([...found].map(([{ name }, root]) => [name, root] as const)),
    rootsOf(there.map(({ name, root }) => [name, root] as const)),
  ]
}

function open(path: string, tables: readonly string[]): Connection {
  const connection = new Connection(new Database(path))
  connection.db.pragma('auto_vacuum = INCREMENTAL')
  for (const sql of tables) connection.db.exec(sql)
  return connection
}

const ROWS = `INSERT INTO other VALUES (1, 'text'); INSERT INTO numbers VALUES (1, 7);
  INSERT INTO left VALUES (1, 0.5); INSERT INTO right VALUES (1, 1.5)`

test('tables are where the migrations put them, if what is known is there too', (t) => {
  const [found, there] = find(t, AS_MADE, ROWS)
  assert.deepEqual(found, there)
})

test('elsewhere they are told by the shape of their rows, and two of the same shape not at all', (t) => {
  const [found, there] = find(t, ANOTHER_ORDER, ROWS)
  assert.deepEqual(found, { numbers: Object(there).numbers })
})

test('nor are they when one of the two has no rows', (t) => {
  const [found, there] = find(t, ANOTHER_ORDER, ROWS.replace(/INSERT INTO left[^;]*;/, ''))
  assert.deepEqual(found, { numbers: Object(there).numbers })
})

test('which of two without rows is which makes no difference', (t) => {
  const [found] = find(t, ANOTHER_ORDER, 'INSERT INTO numbers VALUES (1, 7)')
  assert.deepEqual(Object.keys(Object(found)).sort(), ['left', 'numbers', 'right'])
})

test('where there are more trees than tables, nothing is told', (t) => {
  assert.deepEqual(find(t, [...ANOTHER_ORDER, 'CREATE TABLE damaged_numbers_1 (id, n)'], ROWS)[0], {})
})
