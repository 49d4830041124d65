import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import Database from 'better-sqlite3'
import fc from 'fast-check'
import { pagesOf, SPOILT_PAGES, spoilPage } from '#testing/damage/damaged-pages.ts'
import { RawPages } from './raw-pages.ts'
import { rowAt } from './raw-rows.ts'
import { RawTree } from './raw-tree.ts'

const value = fc.oneof(
  fc.constant(null),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.integer({ min: -300, max: 300 }).map(BigInt),
  fc.double({ noNaN: true }),
  fc.string({ unit: 'grapheme', maxLength: 200 }),
  // a text or a blob may need none, one or several overflow pages
  fc.integer({ min: 400, max: 20_000 }).map((length) => 'long '.repeat(length / 5)),
  fc.uint8Array({ maxLength: 6000 }).map((bytes) => Buffer.from(bytes)),
)

function makeFile(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-raw-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'raw.db')
}

function rowsOf(pages: RawPages, root: number, hasRowids: boolean): unknown[][] {
  const rows: unknown[][] = []
  for (const { number, bytes, page } of new RawTree(pages, { root, hasRowids }).rowPages()) {
    for (const cell of page.cells) {
      const row = rowAt(pages, number, { bytes, page, cell })
      rows.push([...(hasRowids ? [row?.rowid] : []), ...(row?.values() ?? ['unreadable'])])
    }
  }
  return rows
}

const textsOf = (rows: readonly (readonly unknown[])[]) =>
  rows.map((row) => row.map((one) => (typeof one === 'bigint' ? `${one}n` : JSON.stringify(one))).join()).sort()

test('the raw reader returns what SQLite returns, from the file and from the log', (t) => {
  const path = makeFile(t)
  const db = new Database(path)
  db.pragma('auto_vacuum = INCREMENTAL')
  db.pragma('journal_mode = WAL')
  db.exec('CREATE TABLE numbered (a, b, c); CREATE TABLE keyed (k PRIMARY KEY, a, b) WITHOUT ROWID')
  const root = (name: string) =>
    db.prepare<[string], number>('SELECT rootpage FROM sqlite_schema WHERE name = ?').pluck().get(name) ?? 0
  fc.assert(
    fc.property(fc.array(fc.tuple(value, value, value), { maxLength: 200 }), fc.boolean(), (rows, isInLog) => {
      db.exec('DELETE FROM numbered; DELETE FROM keyed')
      for (const row of rows) db.prepare('INSERT INTO numbered VALUES (?, ?, ?)').run(...row)
      for (const [k, a, b] of rows)
        if (k !== null) db.prepare('INSERT OR IGNORE INTO keyed VALUES (?, ?, ?)').run(k, a, b)
      if (!isInLog) db.pragma('wal_checkpoint(TRUNCATE)')
      const pages = new RawPages(path)
      try {
        const all = (sql: string) => db.prepare<[], unknown[]>(sql).raw().safeIntegers().all()
        const numbered = all('SELECT rowid, * FROM numbered')
        assert.deepEqual(textsOf(rowsOf(pages, root('numbered'), true)), textsOf(numbered))
        assert.deepEqual(textsOf(rowsOf(pages, root('keyed'), false)), textsOf(all('SELECT * FROM keyed')))
      } finally {
        pages.close()
      }
    }),
    { numRuns: 30 },
  )
  db.close()
})

test('noise, zeros and ones anywhere in a page never throw, and yield no row that did not exist', (t) => {
  const path = makeFile(t)
  const db = new Database(path)
  db.pragma('auto_vacuum = INCREMENTAL')
  db.exec(`CREATE TABLE one (id INTEGER PRIMARY KEY, text TEXT);
    WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 2000)
    INSERT INTO one SELECT i, hex(i * 77) || iif(i % 50 = 0, hex(zeroblob(3000)), '') FROM c`)
  const root = db.prepare<[], number>("SELECT rootpage FROM sqlite_schema WHERE name = 'one'").pluck().get() ?? 0
  const known = new Set(textsOf(db.prepare<[], unknown[]>('SELECT id, NULL, text FROM one').raw().safeIntegers().all()))
  const spoilt = pagesOf(db, 'one')
  db.close()
  for (const content of Object.values(SPOILT_PAGES)) {
    for (const { page } of spoilt.filter((_, i) => i % 5 === 0)) {
      spoilPage(path, page, content())
      const pages = new RawPages(path)
      const rows = textsOf(rowsOf(pages, root, true))
      pages.close()
      for (const row of rows) assert.ok(known.has(row) || row.includes('unreadable'), row)
    }
  }
})
