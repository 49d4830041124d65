// npm run check [-- --fast]: everything a change must pass before it is called done. --fast leaves the tests out.
import { spawnSync } from 'node:child_process'

interface Step {
  name: string
  command: string
  args: string[]
}

const steps: Step[] = [
  { name: 'format and lint', command: 'biome', args: ['check', '--error-on-warnings'] },
  { name: 'types', command: 'tsc', args: ['--noEmit'] },
  { name: 'dead code', command: 'knip', args: [] },
]
if (!process.argv.includes('--fast')) {
  steps.push({ name: 'tests', command: process.execPath, args: ['scripts/check/test.ts'] })
}

const failed = steps.filter((step) => !passes(step)).map((step) => step.name)
if (failed.length > 0) console.error(`check failed: ${failed.join(', ')}`)
else console.log('check passed')
process.exitCode = failed.length > 0 ? 1 : 0

function passes(step: Step): boolean {
  const startedAtMs = performance.now()
  const result = spawnSync(step.command, step.args, { stdio: 'inherit' })
  const passed = result.status === 0
  const durationS = ((performance.now() - startedAtMs) / 1000).toFixed(1)
  console.log(
    `${passed ? '✔' : '✘'} ${step.name} (${durationS} s)${result.error ? `: ${result.error.message}` : ''}`,
  )
  return passed
}
