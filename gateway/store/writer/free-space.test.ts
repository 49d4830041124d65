import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import Database from 'better-sqlite3'
import { WriterConnection } from './connection.ts'
import { FreeSpace } from './free-space.ts'

const root = mkdtempSync(join(tmpdir(), 'cartbarn-free-space-'))
after(() => rmSync(root, { recursive: true, force: true }))

/** Database with `pages` pages of rows, which `remove` deletes. */
function open(name: string, autoVacuum: 'INCREMENTAL' | 'NONE') {
  const path = join(root, name)
  const db = new Database(path)
  db.pragma(`auto_vacuum = ${autoVacuum}`)
  db.pragma('journal_mode = WAL')
  db.exec('CREATE TABLE filler (id INTEGER PRIMARY KEY, content BLOB)')
  db.exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
    INSERT INTO filler SELECT i, zeroblob(3500) FROM n`)
  db.close()
  const connection = new WriterConnection(path, statSync(path, { bigint: true }).ino)
  const remove = (fromId: number, toId: number) =>
    connection.transaction(({ db: writing }) =>
      writing.prepare('DELETE FROM filler WHERE id BETWEEN ? AND ?').run(fromId, toId),
    )
  return { connection, remove, freeSpace: new FreeSpace(connection), sizeMb: () => statSync(path).size / 1e6 }
}

test('no pages are moved during a deletion and for a short time after it', () => {
  const { connection, remove, freeSpace, sizeMb } = open('growing.db', 'INCREMENTAL')
  remove(1, 500)
  assert.equal(freeSpace.step(), null)
  assert.equal(freeSpace.step(), null)
  for (const fromId of [501, 1001, 1501]) {
    remove(fromId, fromId + 499)
    const freePages = connection.freePages()
    assert.ok((freeSpace.step() ?? 0) >= 500 || freePages < 1000)
    assert.equal(connection.freePages(), freePages)
  }
  for (let steps = 0; freeSpace.step() !== null; steps++) assert.ok(steps < 100)
  assert.equal(connection.freePages(), 0)
  assert.ok(sizeMb() < 5, `${sizeMb()} MB`)
  connection.close()
})

test('a file that cannot shrink is left unchanged after one try', () => {
  const { connection, remove, freeSpace } = open('fixed.db', 'NONE')
  remove(1, 2500)
  assert.notEqual(freeSpace.step(), null)
  assert.notEqual(freeSpace.step(), null)
  assert.equal(freeSpace.step(), null)
  assert.equal(freeSpace.step(), null)
  connection.close()
})
