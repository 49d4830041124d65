import assert from 'node:assert/strict'
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import Database from 'better-sqlite3'
import { pagesOf, SPOILT_PAGES, spoilPage } from '#testing/damage/damaged-pages.ts'
import { Connection } from '../db/connection.ts'
import { recoverTable } from './recover-table.ts'

const ROWS = 20_000
/**
 * True if CARTBARN_TEST_LONG=1: each kind of damage is tested at each position of each table, otherwise in one or two
 * tables.
 */
const IS_LONG = process.env.CARTBARN_TEST_LONG !== undefined

const SCHEMA = `
  CREATE TABLE numbered (seq INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, text TEXT NOT NULL) STRICT;
  CREATE INDEX numbered_by_text ON numbered (text, name);
  CREATE TABLE named (name TEXT PRIMARY KEY, text TEXT NOT NULL) STRICT;
  CREATE TABLE keyed (owner TEXT, name TEXT, text TEXT NOT NULL, PRIMARY KEY (owner, name)) STRICT, WITHOUT ROWID;
  CREATE INDEX keyed_by_text ON keyed (text);
  CREATE TABLE large (seq INTEGER PRIMARY KEY, name TEXT NOT NULL, bytes BLOB NOT NULL) STRICT;
`
const COUNTED = `WITH RECURSIVE counted (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM counted WHERE i < ${ROWS})`
const CONTENT = `
  ${COUNTED} INSERT INTO numbered SELECT i * 3, 'n' || i, hex(i * 7) FROM counted;
  ${COUNTED} INSERT INTO named SELECT hex(i * 11), hex(i) FROM counted;
  ${COUNTED} INSERT INTO keyed SELECT printf('c%04d', i / 20), 'k' || i, hex(i * 5) FROM counted;
  ${COUNTED} INSERT INTO large SELECT i, 'l' || i, randomblob(9000 + i) FROM counted WHERE i <= 2000;
`
const TABLES = ['numbered', 'named', 'keyed', 'large']

const folder = mkdtempSync(join(tmpdir(), 'cartbarn-salvage-'))
after(() => rmSync(folder, { recursive: true }))
const whole = join(folder, 'whole.db')
const db = new Database(whole)
db.exec(`${SCHEMA} BEGIN; ${CONTENT} COMMIT`)
const pages = new Map(TABLES.map((table) => [table, pagesOf(db, table)]))
const contents = new Map(TABLES.map((table) => [table, contentOf(db, table)]))
db.close()

function contentOf(db: Database.Database, table: string): Set<string> {
  const rows = db.prepare(`SELECT * FROM ${table} NOT INDEXED`).raw().all()
  return new Set(rows.map((row) => JSON.stringify(row)))
}

function open(t: TestContext, path: string): Connection {
  const connection = new Connection(new Database(path))
  t.after(() => connection.close())
  return connection
}

function openEmpty(t: TestContext): Connection {
  const connection = open(t, ':memory:')
  connection.db.exec(SCHEMA)
  return connection
}

function damaged(spoil: (path: string) => void): string {
  const path = join(folder, `damaged.db`)
  copyFileSync(whole, path)
  spoil(path)
  return path
}

/** Returns the number of original rows that are not in the copy; the copy must have no others. */
function missing(copy: Connection, table: string): number {
  const expected = contents.get(table) ?? new Set()
  const found = contentOf(copy.db, table)
  for (const row of found) assert.ok(expected.has(row), `${table} had no ${row}`)
  return expected.size - found.size
}

for (const [place, table] of TABLES.entries()) {
  test(`all rows of an intact table are copied: ${table}`, (t) => {
    const copy = openEmpty(t)
    const recovered = recoverTable(open(t, whole), copy, table)
    const rows = contents.get(table)?.size
    assert.deepEqual(recovered, { table, rows, unreadable: [], refused: [], isComplete: true })
    assert.equal(missing(copy, table), 0)
  })

  for (const [n, [spoilt, content]] of Object.entries(SPOILT_PAGES).entries()) {
    test(`a leaf of ${spoilt} loses only its own rows: ${table}`, (t) => {
      const leaves = (pages.get(table) ?? []).filter(({ kind }) => kind === 'leaf')
      const places = [0, Math.floor(leaves.length / 2), leaves.length - 1]
      const chosen = places[(n + place) % places.length] ?? 0
      for (const at of IS_LONG ? places : [chosen]) {
        const { page = 0, cells = 0 } = leaves[at] ?? {}
        const copy = openEmpty(t)
        const recovered = recoverTable(
          open(
            t,
            damaged((path) => spoilPage(path, page, content())),
          ),
          copy,
          table,
        )
        assert.equal(missing(copy, table), cells, `page ${page}`)
        assert.equal(recovered.isComplete, false)
        assert.equal(recovered.unreadable.length, 1)
      }
    })
  }

  test(`rows between two damaged leaves are copied: ${table}`, (t) => {
    const leaves = (pages.get(table) ?? []).filter(({ kind }) => kind === 'leaf')
    const bad = [0.3, 0.35, 0.6].map((part) => leaves[Math.floor(leaves.length * part)])
    const copy = openEmpty(t)
    const from = open(
      t,
      damaged((path) => {
        for (const leaf of bad) spoilPage(path, leaf?.page ?? 0, SPOILT_PAGES.noise())
      }),
    )
    const { unreadable } = recoverTable(from, copy, table)
    assert.equal(
      missing(copy, table),
      bad.reduce((sum, leaf) => sum + (leaf?.cells ?? 0), 0),
    )
    assert.ok(unreadable.length >= 3, `${unreadable.length} gaps`)
  })

  test(`a damaged inner page loses only the rows below it: ${table}`, (t) => {
    const inner = (pages.get(table) ?? []).filter(({ kind }) => kind === 'internal')
    const root = inner[0]?.page
    for (const { page } of inner.filter(({ page }) => page !== root).slice(0, 3)) {
      const copy = openEmpty(t)
      const from = open(
        t,
        damaged((path) => spoilPage(path, page, SPOILT_PAGES.noise())),
      )
      const recovered = recoverTable(from, copy, table)
      const lost = missing(copy, table)
      assert.ok(lost > 0 && recovered.rows > 0, `${lost} of page ${page}`)
    }
  })
}

test('a damaged overflow page loses a single row, and its key is reported', (t) => {
  const overflow = (pages.get('large') ?? []).filter(({ kind }) => kind === 'overflow')
  // the first four bytes name the next page of the row, so this one leads nowhere
  const bad = overflow.slice(overflow.length / 2, overflow.length / 2 + 8).map(({ page }) => page)
  const path = damaged((path) => {
    for (const page of bad) spoilPage(path, page, SPOILT_PAGES.ones())
  })
  const copy = openEmpty(t)
  const from = open(t, path)
  const { unreadable } = recoverTable(from, copy, 'large')
  assert.ok(unreadable.length > 0 && unreadable.every((one) => 'key' in one))
  const seqs = unreadable.flatMap((one) => ('key' in one ? one.key : []))
  const found = copy.all<{ seq: number }>('SELECT seq FROM large')
  assert.equal(found.length + seqs.length, 2000)
})

test('rows that violate a constraint of the new table are reported', (t) => {
  const copy = openEmpty(t)
  copy.db.exec(`INSERT INTO numbered VALUES (4, 'n2', 'is in the way')`)
  const { rows, refused, isComplete } = recoverTable(open(t, whole), copy, 'numbered')
  assert.deepEqual({ rows, refused, isComplete }, { rows: ROWS - 1, refused: [[6n]], isComplete: false })
})

test('recovery within one file reads the damaged table under another name', (t) => {
  const leaves = (pages.get('keyed') ?? []).filter(({ kind }) => kind === 'leaf')
  const { page = 0, cells = 0 } = leaves[7] ?? {}
  const one = open(
    t,
    damaged((path) => spoilPage(path, page, SPOILT_PAGES.zeros())),
  )
  one.db.exec(`ALTER TABLE keyed RENAME TO keyed_damaged;
    CREATE TABLE keyed (owner TEXT, name TEXT, text TEXT NOT NULL, PRIMARY KEY (owner, name)) STRICT, WITHOUT ROWID`)
  const { unreadable } = recoverTable(one, one, 'keyed', 'keyed_damaged')
  assert.equal(missing(one, 'keyed'), cells)
  assert.equal(unreadable.length, 1)
  assert.throws(() => one.db.transaction(() => recoverTable(one, one, 'keyed', 'keyed_damaged'))())
})
