import assert from 'node:assert/strict'
import { globSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { diskFolder, loadLibrary, programFolder, readProgramFile } from './program-files.ts'

test('files of the program are found by their paths in the sources', () => {
  assert.match(readProgramFile('package.json').toString(), /"name": "cartbarn"/)
  const migrations = programFolder('gateway/store/db/migrations')
  assert.deepEqual(
    migrations.names(),
    globSync('gateway/store/db/migrations/*', { cwd: join(import.meta.dirname, '..') })
      .map((path) => path.slice('gateway/store/db/migrations/'.length))
      .sort(),
  )
  assert.match(migrations.read('007-telemetry-blocks.sql')?.toString() ?? '', /CREATE TABLE/)
})

test('a file that the executable does not include cannot be read from sources either', () => {
  assert.throws(() => readProgramFile('README.md'), /the executable would not have README\.md/)
  assert.throws(() => readProgramFile('shared/time.ts'), /PROGRAM_FILES/)
})

test('a folder lists files only, and returns undefined for a missing one', (t) => {
  const path = mkdtempSync(join(tmpdir(), 'cartbarn-folder-'))
  t.after(() => rmSync(path, { recursive: true }))
  mkdirSync(join(path, 'below'))
  writeFileSync(join(path, 'below/c'), 'c')
  writeFileSync(join(path, 'b'), 'b')
  writeFileSync(join(path, 'a'), '')
  const folder = diskFolder(path)
  assert.deepEqual(folder.names(), ['a', 'b'])
  assert.equal(folder.read('below/c')?.toString(), 'c')
  assert.equal(folder.read('none'), undefined)
  assert.throws(() => folder.read('below'), { code: 'EISDIR' })
})

test('a library in the sources is loaded from its path', () => {
  assert.equal(
    loadLibrary('gateway/x.so', (path) => path),
    join(import.meta.dirname, '../gateway/x.so'),
  )
})
