import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { preparePrivateFolder } from './private-files.ts'

function newFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-private-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function modeOf(path: string): number {
  return statSync(path).mode & 0o777
}

test('a folder is created with its parents', (t) => {
  const folder = join(newFolder(t), 'deep', 'data')
  preparePrivateFolder(folder, ['a.db'])
  assert.equal(modeOf(folder), 0o700)
})

test('an empty folder that others may read is made private', (t) => {
  const folder = newFolder(t)
  chmodSync(folder, 0o755)
  preparePrivateFolder(folder, ['a.db'])
  assert.equal(modeOf(folder), 0o700)
})

test('the folder of an earlier run is made private with its known files, but no other file', (t) => {
  const folder = newFolder(t)
  for (const name of ['a.db', 'notes.txt']) writeFileSync(join(folder, name), '', { mode: 0o644 })
  mkdirSync(join(folder, 'tables'), { mode: 0o755 })
  chmodSync(folder, 0o755)
  preparePrivateFolder(folder, ['a.db', 'a.lock', 'tables'])
  assert.deepEqual(
    ['.', 'a.db', 'tables', 'notes.txt'].map((name) => modeOf(join(folder, name))),
    [0o700, 0o600, 0o700, 0o644],
  )
})

test('an open folder with other files is rejected and stays unchanged', (t) => {
  const folder = newFolder(t)
  writeFileSync(join(folder, 'index.html'), '')
  chmodSync(folder, 0o755)
  assert.throws(() => preparePrivateFolder(folder, ['a.db']), /others may read .* holds other files: chmod 700/)
  assert.equal(modeOf(folder), 0o755)
  chmodSync(folder, 0o700)
  preparePrivateFolder(folder, ['a.db'])
})

test('a folder writable for everyone is rejected', () => {
  assert.throws(() => preparePrivateFolder(tmpdir(), ['a.db']), /others may read the data folder/)
  assert.equal(statSync(tmpdir()).mode & 0o1777, 0o1777)
})
