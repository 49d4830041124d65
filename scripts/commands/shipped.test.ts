import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { test } from 'node:test'
import { HELP_PAGES } from '#shared/help-pages.ts'

const ROOT = join(import.meta.dirname, '../..')
const ENTRY = 'scripts/commands/cartbarn.ts'
const OURS_ONLY = /^scripts\/(?:bench|torture|fuzz|rig|check|release)\/|^gateway\/dashboard\/|\/testing\/|\.test\.ts$/

const manifest: {
  imports: Record<string, string>
  dependencies: Record<string, string>
  devDependencies: Record<string, string>
} = JSON.parse(read('package.json'))

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}

/**
 * Returns everything reachable from a file: our files with the paths to them, and packages. Every text that names a
 * module counts, so that modules imported later, or run in a thread or another process, are included.
 */
function reach(entry: string, readText = read): { ways: Map<string, string>; packages: Set<string> } {
  const ways = new Map([[entry, entry]])
  const packages = new Set<string>()
  for (const [path, way] of ways) {
    const text = readText(path)
    for (const [, name = ''] of text.matchAll(/'((?:\.{1,2}|#[\w-]+)\/[\w./-]+\.(?:ts|mjs))'/g)) {
      const file = fileOf(path, name)
      if (!ways.has(file)) ways.set(file, `${way} -> ${file}`)
    }
    for (const [, name = ''] of text.matchAll(/(?:\bfrom |\bimport\()'([\w@][^:'\n]*)'/g)) packages.add(name)
  }
  return { ways, packages }
}

function fileOf(from: string, name: string): string {
  if (name.startsWith('.')) return posix.join(dirname(from), name)
  const [alias = '', ...rest] = name.split('/')
  const folder = manifest.imports[`${alias}/*`] ?? assert.fail(`${from}: ${name}`)
  return posix.join(folder.slice(0, -1), rest.join('/'))
}

const { ways, packages } = reach(ENTRY)

test('shipped files import no benchmarks, torture, fuzz or test tools, and no libraries of the app', () => {
  assert.deepEqual(
    [...ways].filter(([path]) => OURS_ONLY.test(path)).map(([, way]) => way),
    [],
  )
})

test('commands, threads and their imports are found', () => {
  for (const path of [
    ...['run.ts', 'hub.ts', 'demo.ts', 'admin-key.ts', 'import/upload.ts', 'export/whole-file.ts'].map(
      (name) => `scripts/commands/${name}`,
    ),
    'scripts/commands/sync-file/run-import.ts',
    'scripts/commands/simulate/sites/log.ts',
    'gateway/store/writer/worker.ts',
    'gateway/store/readers/worker.ts',
    'cloud-sync/hub/store/users.ts',
  ])
    assert.ok(ways.has(path), path)
})

test('the docs that the gateway serves exist', () => {
  assert.deepEqual(
    HELP_PAGES.filter((page) => !existsSync(join(ROOT, `docs/${page}.md`))),
    [],
  )
})

test('packages used by shipped code are dependencies, not devDependencies', () => {
  const names = [...packages].map((name) => /^(?:@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? name)
  assert.ok(names.includes('mqtt') && names.includes('pino-pretty'))
  assert.deepEqual(
    names.filter((name) => !(name in manifest.dependencies)),
    [],
  )
})

test('packages of the app are built into it, and no host of a gateway needs them', () => {
  const exclude = ['**/*.test.ts', 'gateway/dashboard/testing/**']
  const paths = globSync('gateway/dashboard/**/*.{ts,tsx,css}', { cwd: ROOT, exclude })
  const names = paths.flatMap((path) =>
    [...read(path).matchAll(/(?:\bfrom |\bimport(?: |\())['"]((?:@[^/'"]+\/)?[\w][^/:'"]*)[^:'"]*['"]/g)].map(
      ([, name = '']) => name,
    ),
  )
  assert.ok(names.includes('preact') && names.includes('vite'))
  assert.deepEqual(
    names.filter((name) => !(name in manifest.devDependencies) || name in manifest.dependencies),
    [],
  )
})

test('a benchmark is found behind an import, a late import, a type and a thread', () => {
  const files: Record<string, string> = {
    'a/entry.ts': "import { b } from './b.ts'\nconst later = () => import('#scripts/c/c.ts')",
    'a/b.ts': "import type { D } from '../d.ts'",
    'scripts/c/c.ts': "new Worker(new URL('../bench/thread.ts', import.meta.url))",
    'd.ts': "import { run } from '#scripts/bench/bench.ts'\nimport 'x'\nimport y from '@y/z'",
  }
  const found = reach('a/entry.ts', (path) => files[path] ?? '')
  assert.deepEqual([...found.ways.keys()].filter((path) => OURS_ONLY.test(path)).sort(), [
    'scripts/bench/bench.ts',
    'scripts/bench/thread.ts',
  ])
  assert.equal(found.ways.get('scripts/bench/thread.ts'), 'a/entry.ts -> scripts/c/c.ts -> scripts/bench/thread.ts')
  assert.deepEqual([...found.packages], ['@y/z'])
})
