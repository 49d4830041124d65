import { execFileSync } from 'node:child_process'
import { globSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { checkLoadSegments } from '../../executable/load-segments.ts'
import { Machine } from '../machine.ts'
import { runSteps } from '../run-steps.ts'
import { ARM64_STEPS, putArm64 } from './arm64-steps.ts'
import { PROGRAM_STEPS } from './program-steps.ts'

const ARCHIVE = 'cartbarn-*-linux-x64.tar.xz'
const ARM64 = 'linux-arm64'

/** Tests the unpacked archive of a release in `release` on a bare machine. Returns the number of failed steps. */
export async function checkProgram(root: string, release: string, bareDebian: () => string): Promise<number> {
  const [archive] = globSync(ARCHIVE, { cwd: release })
  if (archive === undefined) throw new Error(`${release} has no ${ARCHIVE}: npm run build:release makes it`)
  const failures = await runSteps('executables for pages of 16 KB', undefined, {
    'all that is mapped for arm64 falls on pages of 64 KB': () => {
      const libraries = [
        'node_modules/better-sqlite3/prebuilds/linux-arm64.node',
        'gateway/store/pages/page-sums-linux-arm64.so',
      ].map((path) => join(root, path))
      for (const path of [join(release, ARM64, 'cartbarn'), ...libraries]) checkLoadSegments(readFileSync(path), ARM64)
    },
  })
  const machine = new Machine(bareDebian())
  try {
    const target = join(machine.root, 'opt/cartbarn')
    mkdirSync(target)
    execFileSync('tar', ['-xJf', join(release, archive), '-C', target, '--strip-components=1'])
    putArm64(machine, join(release, ARM64, 'cartbarn'))
    await machine.start()
    const steps = { ...PROGRAM_STEPS, ...ARM64_STEPS }
    return failures + (await runSteps(archive, machine, steps))
  } finally {
    await machine.stop()
  }
}
