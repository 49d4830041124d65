import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

test('process is touched by main.ts and config.ts only, console by main.ts only', () => {
  const may: Record<string, { console: boolean; process: boolean }> = {
    'gateway/main.ts': { console: true, process: true },
    'gateway/config.ts': { console: false, process: true },
    'gateway/gateway.ts': { console: false, process: false },
    'gateway/domain/config.ts': { console: false, process: false },
    'gateway/store/write-worker.ts': { console: false, process: false },
    'gateway/testing/fake-device.ts': { console: false, process: true },
    'gateway/api/trips.test.ts': { console: true, process: true },
    'shared/trips.ts': { console: false, process: false },
    'cloud-sync/hub/main.ts': { console: true, process: true },
    'cloud-sync/hub/config.ts': { console: false, process: true },
    'cloud-sync/hub/testing/start-postgres.ts': { console: false, process: true },
    'cloud-sync/agent/drain.ts': { console: false, process: false },
    'scripts/bench.ts': { console: true, process: true },
  }
  const lines = ['console.log(1)', 'process.exit()', 'export const home = process.env.HOME']
  const diagnostics = lint(Object.keys(may).map((file) => ({ file, lines })))
  for (const [file, allowed] of Object.entries(may)) {
    assert.deepEqual(linesWith('noConsole', file, diagnostics), allowed.console ? [] : [1], file)
    assert.deepEqual(linesWith('noRestrictedGlobals', file, diagnostics), allowed.process ? [] : [2, 3], file)
  }
})

test('only main.ts and the system clock ask what time it is', () => {
  const mayAsk = ['gateway/main.ts', 'cloud-sync/hub/main.ts', 'shared/time.ts']
  const files = globSync('{gateway,cloud-sync,shared}/**/*.{ts,tsx}', {
    cwd: ROOT,
    exclude: ['**/node_modules/**', '**/*.test.ts', '{gateway,cloud-sync/hub}/testing/**'],
  })
  assert.deepEqual(
    files.filter((file) => !mayAsk.includes(file) && /\b(Date\.now|new Date)\(\)/.test(read(file))),
    [],
  )
})

interface Diagnostic {
  category: string
  location: { path: string; start: { line: number } }
}

/** Lints files that do not exist on the disk, under the rules of this repository. */
function lint(files: { file: string; lines: string[] }[]): Diagnostic[] {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-boundaries-'))
  try {
    cpSync(join(ROOT, 'biome.json'), join(folder, 'biome.json'))
    for (const { file, lines } of files) {
      mkdirSync(join(folder, dirname(file)), { recursive: true })
      writeFileSync(join(folder, file), `${lines.join('\n')}\n`)
    }
    const biome = join(ROOT, 'node_modules/.bin/biome')
    const args = ['lint', '--reporter=json', '--max-diagnostics=none']
    const { stdout } = spawnSync(biome, args, { cwd: folder, encoding: 'utf8', maxBuffer: 2 ** 26 })
    return JSON.parse(stdout).diagnostics
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Returns the lines of `file` that break `rule`, each once, in order. */
function linesWith(rule: string, file: string, diagnostics: Diagnostic[]): number[] {
  const lines = diagnostics
    .filter(({ category, location }) => category.endsWith(`/${rule}`) && location.path === file)
    .map(({ location }) => location.start.line)
  return [...new Set(lines)].sort((a, b) => a - b)
}

function read(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8')
}
