// npm test [-- FILTER… | --node-test-option…]: runs the tests whose path contains a filter, or all of them.
import { spawn } from 'node:child_process'
import { globSync, mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { stripTests } from './strip-tests.ts'
import { writeGroups } from './test-groups.ts'

/** Tests that inspect or change their whole process. */
const ALONE: readonly string[] = []

const args = process.argv.slice(2)
const options = args.filter((arg) => arg.startsWith('-'))
const filters = args.filter((arg) => !arg.startsWith('-'))

const files = globSync('{gateway,cloud-sync,shared,scripts}/**/*.test.ts', {
  exclude: ['**/node_modules/**'],
})
  .filter((path) => filters.length === 0 || filters.some((filter) => path.includes(filter)))
  .sort()

if (files.length === 0) {
  console.error(`no test file matches ${filters.join(' or ') || '*.test.ts'}`)
  process.exitCode = 1
} else {
  await stripTests(files)
  runTests()
}

/** Number of files to run concurrently: most wait for timers, disks and other processes more than they work. */
function filesAtOnce(): number {
  const cores = availableParallelism()
  return cores + Math.min(2 * cores, 8)
}

/** The small nursery of `run.mjs` keeps pauses short, needless in tests, and costs a twentieth of processor time. */
function optionsOfTests(): string {
  return (process.env.NODE_OPTIONS ?? '').replace(/--max-semi-space-size=\d+/, '').trim()
}

function isAlone(path: string): boolean {
  return ALONE.includes(path)
}

function runTests(): void {
  // for `once-a-run.ts`
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-test-run-'))
  const runner = spawn(
    process.execPath,
    [
      `--import=${new URL('./direct-imports.mjs', import.meta.url)}`,
      `--import=${new URL('./test-leaks.ts', import.meta.url)}`,
      '--test',
      '--test-reporter=spec',
      // applies to a test, and to a suite of tests
      '--test-timeout=300000',
      `--test-concurrency=${filesAtOnce()}`,
      ...options,
      ...writeGroups(files, folder, isAlone),
    ],
    {
      stdio: 'inherit',
      env: { ...process.env, NODE_OPTIONS: optionsOfTests(), TEST_RUN_FOLDER: folder },
    },
  )
  // The runner gets Ctrl-C from the terminal as well and then names the tests it interrupted.
  process.on('SIGINT', () => undefined)
  process.on('SIGTERM', () => runner.kill('SIGTERM'))
  runner.on('exit', (code) => {
    rmSync(folder, { recursive: true, force: true })
    process.exitCode = code ?? 1
  })
}
