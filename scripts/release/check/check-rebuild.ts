import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { runSteps } from './run-steps.ts'

/** Builds this commit's release again and compares it with that in `release`. Returns the number of failed steps. */
export async function checkRebuild(root: string, release: string): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-rebuild-'))
  try {
    return await runSteps('a second build', folder, {
      'has the same bytes in all files: executables, archives, packages, checksums and signature': () => {
        execFileSync(process.execPath, [join(root, 'scripts/release/build-release.ts'), folder], {
          stdio: ['ignore', 'ignore', 'pipe'],
        })
        const names = filesIn(release)
        assert.ok(names.includes('linux-x64/cartbarn') && names.includes('linux-arm64/cartbarn'))
        assert.deepEqual(filesIn(folder), names)
        for (const name of names) {
          const isSame = readFileSync(join(folder, name)).equals(readFileSync(join(release, name)))
          assert.ok(isSame, `${name} of ${release} differs: is it of this commit, signed by this key?`)
        }
      },
    })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort()
}
