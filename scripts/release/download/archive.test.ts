import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { packArchive } from './archive.ts'

const folder = mkdtempSync(join(tmpdir(), 'cartbarn-archive-test-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const CHANGELOG = '# Changelog\n\n## Unreleased\n\nnew\n\n## 1.2.3 (2026)\n\nof it\n\n## 1.2\n\nold\n'

function pack(name: string, version = '1.2.3'): string {
  const program = join(folder, 'program')
  writeFileSync(program, 'a program', { mode: 0o700 })
  // the build time must not matter
  utimesSync(program, name.length, name.length)
  mkdirSync(join(folder, name))
  const about = { version, system: 'linux-x64', licences: 'MIT', changelog: CHANGELOG }
  return join(folder, name, packArchive({ program, ...about, changedAtS: 1_700_000_000, folder: join(folder, name) }))
}

function fileOf(archive: string, name: string): string {
  return execFileSync('tar', ['-xJOf', archive, name], { encoding: 'utf8' })
}

test('the same files yield the same bytes, regardless of user and time', () => {
  const before = process.umask(0o077)
  const first = pack('first')
  process.umask(before)
  const second = pack('second')
  assert.match(second, /\/cartbarn-1\.2\.3-linux-x64\.tar\.xz$/)
  assert.ok(readFileSync(first).equals(readFileSync(second)))
})

test('the archive has program, licences, changes and a note, owned by root, with the commit time', () => {
  const list = execFileSync('tar', ['-tvJf', pack('list')], {
    encoding: 'utf8',
    env: { ...process.env, TZ: 'UTC' },
  })
  const rows = list
    .trim()
    .split('\n')
    .map((line) => line.replace(/ +\d+ (?=2023)/, ' '))
  assert.deepEqual(rows, [
    'drwxr-xr-x 0/0 2023-11-14 22:13 cartbarn-1.2.3-linux-x64/',
    '-rw-r--r-- 0/0 2023-11-14 22:13 cartbarn-1.2.3-linux-x64/CHANGELOG.md',
    '-rw-r--r-- 0/0 2023-11-14 22:13 cartbarn-1.2.3-linux-x64/LICENSES.txt',
    '-rw-r--r-- 0/0 2023-11-14 22:13 cartbarn-1.2.3-linux-x64/README.md',
    '-rwxr-xr-x 0/0 2023-11-14 22:13 cartbarn-1.2.3-linux-x64/cartbarn',
  ])
})

test('the changes are those of the version, or the newest before it is released', () => {
  assert.equal(fileOf(pack('own'), 'cartbarn-1.2.3-linux-x64/CHANGELOG.md'), '## 1.2.3 (2026)\n\nof it\n\n')
  assert.match(fileOf(pack('next', '1.3.0'), 'cartbarn-1.3.0-linux-x64/CHANGELOG.md'), /^## Unreleased/)
})
