import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import Database from 'better-sqlite3'
import { chooseStrike, namedPages, strike, strikePage } from './strike.ts'

function folderWithDatabase(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-strike-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const db = new Database(join(folder, 'cartbarn.db'))
  db.exec('CREATE TABLE cart (id INTEGER PRIMARY KEY, name TEXT); CREATE INDEX cart_by_name ON cart (name)')
  const insert = db.prepare('INSERT INTO cart (name) VALUES (?)')
  for (let n = 0; n < 500; n++) insert.run(`cart number ${n}`)
  db.close()
  return folder
}

test('the same seed does the same damage, another one mostly other damage', (t) => {
  const folder = folderWithDatabase(t)
  const path = join(folder, 'cartbarn.db')
  const whole = readFileSync(path)
  const after = (seed: number) => {
    writeFileSync(path, whole)
    const chosen = chooseStrike(folder, 'cartbarn.db', seed)
    strike(folder, chosen)
    return readFileSync(path).toString('hex')
  }
  assert.equal(after(1), after(1))
  assert.equal(new Set([1, 2, 3, 4, 5, 6, 7, 8].map(after)).size, 8)
})

test('damage of each kind changes the stated bytes only', (t) => {
  const folder = folderWithDatabase(t)
  const path = join(folder, 'cartbarn.db')
  const whole = readFileSync(path)
  for (const [kind, bytes] of [
    ['bit', 1],
    ['sector of zeros', 512],
    ['page of noise', 4096],
  ] as const) {
    writeFileSync(path, whole)
    strike(folder, { file: 'cartbarn.db', kind, offset: 4096, seed: 3 })
    const damaged = readFileSync(path)
    assert.equal(damaged.length, whole.length)
    assert.notDeepEqual(damaged.subarray(4096, 4096 + bytes), whole.subarray(4096, 4096 + bytes))
    assert.deepEqual(damaged.subarray(0, 4096), whole.subarray(0, 4096))
    assert.deepEqual(damaged.subarray(4096 + bytes), whole.subarray(4096 + bytes))
  }
})

test('each table and each index has a page', (t) => {
  const pages = namedPages(folderWithDatabase(t), 1)
  assert.deepEqual(
    pages.map(({ name }) => name),
    ['cart', 'cart_by_name'],
  )
  for (const page of pages) assert.equal(strikePage(page, 1).offset, (page.page - 1) * 4096)
})
