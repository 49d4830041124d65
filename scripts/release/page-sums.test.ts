import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { binaryOf, buildPageSums, COMPILERS, markOfSource } from './page-sums.ts'

for (const system of Object.keys(COMPILERS)) {
  test(`the extension that is kept for ${system} was made of the source that is kept`, () => {
    assert.ok(readFileSync(binaryOf(system)).includes(markOfSource()), 'npm run build:page-sums')
  })

  test(`the compiler that made the extension for ${system} makes it again, byte for byte`, (t) => {
    const kept = readFileSync(binaryOf(system))
    const version = spawnSync(COMPILERS[system] ?? '', ['--version'], { encoding: 'utf8' }).stdout?.match(
      /\d+\.\d+\.\d+/,
    )
    if (!version || !kept.includes(`) ${version[0]}`)) return t.skip('no such compiler here')
    const folder = mkdtempSync(join(tmpdir(), 'cartbarn-build-'))
    t.after(() => rmSync(folder, { recursive: true }))
    buildPageSums(system, join(folder, 'made.so'))
    assert.ok(readFileSync(join(folder, 'made.so')).equals(kept))
  })
}
