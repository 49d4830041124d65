import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))

const SHARED = ['shared/x.ts', 'shared/wire/x.ts']
const HTTP = ['shared/http/x.ts']
const GATEWAY = [
  ...['gateway/events.ts', 'gateway/gateway.ts', 'gateway/api/x.ts', 'gateway/broker/x.ts'],
  ...['gateway/dashboard/x.ts', 'gateway/devices/x.ts', 'gateway/domain/x.ts', 'gateway/realtime/x.ts'],
  ...['gateway/services/x.ts', 'gateway/store/x.ts', 'gateway/testing/x.ts'],
]
const CLOUD_SYNC = [
  'agent/x.ts',
  'hub/x.ts',
  'hub/api/x.ts',
  'hub/store/x.ts',
  'hub/testing/x.ts',
  'testing/x.ts',
].map((x) => `cloud-sync/${x}`)
const NODE = ['node:fs', 'node:fs/promises']
const HONO = ['hono', 'hono/factory', '@hono/node-server', '@hono/zod-openapi']
const PACKAGES = [
  ...[
    'aedes',
    'fast-check',
    'better-sqlite3',
    'mqtt',
    'mqtt-packet',
    'pino',
    'qlobber',
    'prom-client',
    'ws',
    'zod',
    'left-pad',
  ],
  ...['@electric-sql/pglite', 'maplibre-gl', 'pg', 'preact', 'preact/hooks', 'vite'],
]
const EVERYTHING = [
  ...[...SHARED, ...HTTP, 'shared/testing/x.ts', ...GATEWAY, ...CLOUD_SYNC, 'scripts/x.ts'],
  ...[...NODE, 'node:process', ...HONO, ...PACKAGES],
]

/** Which of `EVERYTHING` a file may import; it must not import the rest. */
const MAY_IMPORT: Record<string, string[]> = {
  'shared/a.ts': [...SHARED, ...NODE],
  'shared/log.ts': ['shared/x.ts', ...NODE, 'pino'],
  'shared/wire/a.ts': [...SHARED, 'zod'],
  'shared/http/a.ts': [...SHARED, ...HTTP, ...NODE, ...HONO, 'zod'],
  'shared/testing/a.ts': [...SHARED, ...HTTP, 'shared/testing/x.ts', ...NODE, 'fast-check', 'zod'],
  'shared/a.test.ts': except('gateway/', 'cloud-sync/', 'scripts/'),

  'gateway/a.ts': [
    ...except(
      'gateway/dashboard/',
      'gateway/testing/',
      'shared/testing/',
      'cloud-sync/hub/',
      'cloud-sync/testing/',
      'scripts/',
      'node:process',
      ...PACKAGES,
    ),
    ...['pino', 'prom-client', 'ws', 'zod'],
  ],
  'gateway/domain/a.ts': ['gateway/domain/x.ts', ...SHARED],
  'gateway/devices/a.ts': ['gateway/devices/x.ts', 'gateway/domain/x.ts', ...SHARED, 'zod'],
  'gateway/store/a.ts': ['gateway/store/x.ts', 'gateway/domain/x.ts', ...SHARED, ...NODE, 'better-sqlite3'],
  'gateway/store/a-worker.ts': [
    ...['gateway/store/x.ts', 'gateway/domain/x.ts', ...SHARED, ...NODE, 'better-sqlite3', 'zod'],
  ],
  'gateway/broker/a.ts': ['gateway/broker/x.ts', ...SHARED, ...NODE, 'aedes', 'mqtt-packet', 'qlobber', 'ws'],
  'gateway/services/a.ts': [
    ...['gateway/services/x.ts', 'gateway/domain/x.ts', 'gateway/devices/x.ts', 'gateway/store/x.ts'],
    ...['gateway/events.ts', ...SHARED, ...NODE, 'prom-client', 'zod'],
  ],
  'gateway/realtime/a.ts': [
    ...['gateway/realtime/x.ts', 'gateway/domain/x.ts', 'gateway/services/x.ts', 'gateway/events.ts'],
    ...[...SHARED, ...NODE, 'ws', 'zod'],
  ],
  'gateway/api/a.ts': [
    ...['gateway/api/x.ts', 'gateway/domain/x.ts', 'gateway/services/x.ts', 'gateway/store/x.ts'],
    ...['gateway/realtime/x.ts', ...SHARED, ...HTTP, ...NODE, ...HONO, 'prom-client', 'zod'],
  ],
  'gateway/dashboard/a.tsx': ['gateway/dashboard/x.ts', ...SHARED, 'maplibre-gl', 'preact', 'preact/hooks'],
  'gateway/dashboard/vite.config.ts': [...NODE, 'vite'],
  'gateway/testing/a.ts': except('scripts/'),
  'gateway/a.test.ts': except('scripts/'),
  'gateway/domain/a.test.ts': except('scripts/'),
  'gateway/a-folder-without-a-list/a.ts': [],

  'cloud-sync/agent/a.ts': ['cloud-sync/agent/x.ts', ...SHARED, ...NODE, 'zod'],
  'cloud-sync/testing/a.ts': [
    ...['cloud-sync/agent/x.ts', 'cloud-sync/testing/x.ts', ...SHARED],
    ...[...NODE, 'zod'],
  ],
  'cloud-sync/hub/a.ts': [
    ...['cloud-sync/hub/x.ts', 'cloud-sync/hub/api/x.ts', 'cloud-sync/hub/store/x.ts', ...SHARED, ...HTTP],
    ...[...NODE, ...HONO, 'pino', 'prom-client', 'zod'],
  ],
  'cloud-sync/hub/api/a.ts': [
    ...['cloud-sync/hub/x.ts', 'cloud-sync/hub/api/x.ts', 'cloud-sync/hub/store/x.ts', ...SHARED, ...HTTP],
    ...[...NODE, ...HONO, 'prom-client', 'zod'],
  ],
  'cloud-sync/hub/store/a.ts': [
    'cloud-sync/hub/store/x.ts',
    ...SHARED,
    ...NODE,
    'pg',
    '@electric-sql/pglite',
  ],
  'cloud-sync/hub/testing/a.ts': except('gateway/', 'scripts/'),
  'cloud-sync/hub/api/a.test.ts': except('gateway/', 'scripts/'),
  'cloud-sync/a-folder-without-a-list/a.ts': [],

  'scripts/a.ts': EVERYTHING,
  'scripts/a.test.ts': EVERYTHING,
}

function except(...prefixes: string[]): string[] {
  return EVERYTHING.filter((name) => !prefixes.some((prefix) => name.startsWith(prefix)))
}

test('a file may import what its folder is allowed to, and nothing else', () => {
  const files = Object.keys(MAY_IMPORT)
  const diagnostics = lint(
    files.map((file) => ({ file, lines: EVERYTHING.map((name) => `import '${specifier(file, name)}'`) })),
  )
  for (const file of files) {
    const refused = linesWith('noRestrictedImports', file, diagnostics).map((line) => EVERYTHING[line - 1])
    const expected = EVERYTHING.filter((name) => !MAY_IMPORT[file]?.includes(name))
    assert.deepEqual(refused, expected, `${file} must not import exactly these`)
  }
})

test('the list of what a file may import names only what is tried', () => {
  assert.deepEqual(
    Object.values(MAY_IMPORT)
      .flat()
      .filter((name) => !EVERYTHING.includes(name)),
    [],
  )
})

test('every way to import is seen', () => {
  const file = 'gateway/domain/a.ts'
  const lines = [
    `import type { X } from '../store/x.ts'`,
    `import { type X } from '../store/x.ts'`,
    `import * as x from '../store/x.ts'`,
    `export { x } from '../store/x.ts'`,
    `export * from '../store/x.ts'`,
    `export const load = () => import('../store/x.ts')`,
    `import '../domain/../store/x.ts'`,
    `import 'fs'`,
  ]
  assert.deepEqual(
    linesWith('noRestrictedImports', file, lint([{ file, lines }])),
    lines.map((_, index) => index + 1),
  )
})

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

/** Lints files that exist nowhere, under the rules of this repository. */
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

/** The lines of `file` that break `rule`, each once, in order. */
function linesWith(rule: string, file: string, diagnostics: Diagnostic[]): number[] {
  const lines = diagnostics
    .filter(({ category, location }) => category.endsWith(`/${rule}`) && location.path === file)
    .map(({ location }) => location.start.line)
  return [...new Set(lines)].sort((a, b) => a - b)
}

function specifier(from: string, to: string): string {
  if (!to.endsWith('.ts')) return to
  const path = relative(dirname(from), to)
  return path.startsWith('.') ? path : `./${path}`
}

function read(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8')
}
