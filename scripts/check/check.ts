// npm run check: everything that a change must pass. --fast skips the tests. --ratchet only writes the number of
// violations of the rules (check-house.ts), --operations only the operations of the client (operations.ts), --figures
// only the tables of figures in the documents (figures.ts).
import { spawn } from 'node:child_process'

interface Step {
  name: string
  command: string
  args: string[]
}

const TYPES_CACHE = 'node_modules/.cache/cartbarn'

const HOUSE: Step = { name: 'house', command: process.execPath, args: ['scripts/check/check-house.ts'] }
const OPERATIONS: Step = {
  name: 'operations',
  command: process.execPath,
  args: ['scripts/check/operations.ts'],
}
const FIGURES: Step = { name: 'figures', command: process.execPath, args: ['scripts/check/figures.ts'] }
const WRITERS = [
  { option: '--figures', step: FIGURES },
  { option: '--ratchet', step: HOUSE },
  { option: '--operations', step: OPERATIONS },
]

/** Steps that run in parallel; their caches are in node_modules/.cache. */
const STEPS: readonly Step[] = [
  { name: 'format and lint', command: 'biome', args: ['check', '--error-on-warnings'] },
  { name: 'types', command: 'tsc', args: types('.') },
  { name: 'types of the dashboard', command: 'tsc', args: types('gateway/dashboard') },
  { name: 'dead code', command: 'knip', args: ['--cache'] },
  { name: 'imports', command: process.execPath, args: ['scripts/check/check-imports.ts'] },
  HOUSE,
  OPERATIONS,
  FIGURES,
]

/** Runs alone, after the others: some tests have time limits. */
const TESTS: Step = { name: 'tests', command: process.execPath, args: ['scripts/check/test.ts'] }

const options = ['--fast', ...WRITERS.map(({ option }) => option)]
const unknown = process.argv.slice(2).find((argument) => !options.includes(argument))
if (unknown !== undefined) {
  console.error(`check does not know ${unknown}. Its options: ${options.join(', ')}`)
  process.exit(2)
}

const writers = WRITERS.filter(({ option }) => process.argv.includes(option))
const writes = writers.map(({ option, step }) => ({ ...step, args: [...step.args, option] }))
const steps = writes.length > 0 ? writes : STEPS

const failed = (await Promise.all(steps.map((step) => failures(step, 'pipe')))).flat()
if (writes.length === 0 && !process.argv.includes('--fast')) failed.push(...(await failures(TESTS, 'inherit')))
if (failed.length > 0) console.error(`check failed: ${failed.join(', ')}`)
else console.log('check passed')
process.exitCode = failed.length > 0 ? 1 : 0

/** Runs a step; returns its name if it failed. With `pipe` its output is printed as a whole when it ends. */
function failures({ name, command, args }: Step, output: 'pipe' | 'inherit'): Promise<string[]> {
  const startedAtMs = performance.now()
  const child = spawn(command, args, { stdio: ['ignore', output, output] })
  const written: Buffer[] = []
  child.stdout?.on('data', (chunk: Buffer) => written.push(chunk))
  child.stderr?.on('data', (chunk: Buffer) => written.push(chunk))
  child.on('error', ({ message }) => written.push(Buffer.from(`${message}\n`)))
  return new Promise((resolve) => {
    child.on('close', (code) => {
      const durationS = ((performance.now() - startedAtMs) / 1000).toFixed(1)
      console.log(`${Buffer.concat(written)}${code === 0 ? '✔' : '✘'} ${name} (${durationS} s)`)
      resolve(code === 0 ? [] : [name])
    })
  })
}

function types(project: string): string[] {
  const cache = `${TYPES_CACHE}/${project.replaceAll(/[^a-z]/g, '-')}.tsbuildinfo`
  return ['--noEmit', '--incremental', '--project', project, '--tsBuildInfoFile', cache]
}
