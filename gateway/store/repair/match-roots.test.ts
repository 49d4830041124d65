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
/** Two tables of the same shape. */
const TWINS = ['left', 'right'].map((name) => `CREATE TABLE ${name} (id INTEGER PRIMARY KEY, x REAL NOT NULL) STRICT`)
const AS_MADE = [OTHER, NUMBERS, ...TWINS]
/** Order of the tables after one was rebuilt. */
const ANOTHER_ORDER = [...TWINS.toReversed(), NUMBERS, OTHER]

const ENTRIES = 'SELECT type, name, tbl_name AS "table", rootpage AS root, sql FROM sqlite_schema ORDER BY rowid'

/** Returns the found and the actual roots of a database whose schema has only the entry of `other` left. */
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

test('tables are found where the migrations put them if known rows confirm it', (t) => {
  const [found, there] = find(t, AS_MADE, ROWS)
  assert.deepEqual(found, there)
})

test('otherwise tables are identified by the shape of their rows, unless two have the same shape', (t) => {
  const [found, there] = find(t, ANOTHER_ORDER, ROWS)
  assert.deepEqual(found, { numbers: Object(there).numbers })
})

test('two tables of the same shape are not identified even if one of them has no rows', (t) => {
  const [found, there] = find(t, ANOTHER_ORDER, ROWS.replace(/INSERT INTO left[^;]*;/, ''))
  assert.deepEqual(found, { numbers: Object(there).numbers })
})

test('two empty tables are interchangeable and both assigned', (t) => {
  const [found] = find(t, ANOTHER_ORDER, 'INSERT INTO numbers VALUES (1, 7)')
  assert.deepEqual(Object.keys(Object(found)).sort(), ['left', 'numbers', 'right'])
})

test('with more trees than tables, no table is identified', (t) => {
  assert.deepEqual(find(t, [...ANOTHER_ORDER, 'CREATE TABLE damaged_numbers_1 (id, n)'], ROWS)[0], {})
})
