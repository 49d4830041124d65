import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type ImportRule, readAliases, readImportTable } from './import-table.ts'
import { ImportCheck, parseImports, readSources, type SourceFile } from './imports.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const aliases = readAliases(ROOT)
const rules = readImportTable(ROOT, aliases)
const check = new ImportCheck(rules, aliases)
const folders = rules.map(({ files }) => files).filter((files) => files.endsWith('/'))
const packageJson = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
const packages = [...Object.keys(packageJson.dependencies), ...Object.keys(packageJson.devDependencies), 'left-pad']

/** Returns a file that the rule is about. */
function fileOf({ files }: ImportRule): string {
  if (files.endsWith('*.test.ts')) return files.replace('**/*.test.ts', 'a.test.ts')
  return files.endsWith('/') ? `${files}a.ts` : files
}

/** Converts `gateway/store/x.ts` to `#store/x.ts`. */
function aliasOf(path: string): string {
  const [name = '', folder = ''] = [...aliases].reduce(
    (best, each) => (path.startsWith(each[1]) && each[1].length > (best[1] ?? '').length ? each : best),
    ['', ''],
  )
  return `${name}/${path.slice(folder.length)}`
}

/** Returns the findings of the check for one file with one import. */
function findingsFor(path: string, specifier: string): string[] {
  return check.findings([{ path, imports: [{ specifier, line: 1 }] }])
}

test('every line of the table allows the imports it names and rejects the rest', () => {
  for (const rule of rules) {
    const path = fileOf(rule)
    const home = folders.filter((folder) => path.startsWith(folder)).sort((a, b) => b.length - a.length)[0]
    let refused = 0
    for (const folder of folders) {
      if (folder === home) continue
      const isAllowed = findingsFor(path, aliasOf(`${folder}x.ts`)).length === 0
      assert.equal(isAllowed, rule.folders.includes(folder), `${path} imports ${folder}`)
      if (!isAllowed) refused++
    }
    for (const name of [...packages, 'node:fs', 'node:fs/promises']) {
      const isNamed = rule.packages.includes(name.startsWith('node:') ? 'node:' : name)
      const isAllowed = findingsFor(path, name).length === 0
      assert.equal(isAllowed, isNamed || rule.packages.includes('*'), `${path} imports ${name}`)
      if (!isAllowed) refused++
    }
    const mayImportAll = rule.files === 'scripts/**/*.test.ts'
    assert.equal(refused > 0, !mayImportAll, `${rule.files} refuses nothing`)
  }
})

test('the table enforces the rules of the architecture', () => {
  const forbidden: [path: string, specifier: string][] = [
    ['shared/time.ts', '#domain/access.ts'],
    ['shared/time.ts', 'zod'],
    ['shared/zones/zone.ts', 'zod'],
    ['gateway/domain/access.ts', 'node:fs'],
    ['gateway/domain/access.ts', 'zod'],
    ['gateway/store/tables/users.ts', '#services/users.ts'],
    ['gateway/broker/broker.ts', '#store/tables/users.ts'],
    ['gateway/broker/broker.ts', 'better-sqlite3'],
    ['gateway/services/users.ts', 'hono'],
    ['gateway/api/users.ts', 'better-sqlite3'],
    ['gateway/gateway.ts', '#scripts/commands/import.ts'],
    ['gateway/gateway.ts', '#testing/start-gateway.ts'],
    ['gateway/gateway.ts', 'node:process'],
    ['gateway/store/tables/users.test.ts', '#scripts/rig/report.ts'],
    ['cloud-sync/agent/agent.ts', '#store/store.ts'],
    ['cloud-sync/hub/hub.ts', '#services/users.ts'],
    ['cloud-sync/hub/api/users.ts', 'pg'],
    ['cloud-sync/hub/hub.test.ts', '#testing/start-gateway.ts'],
    ['shared/time.test.ts', '#gateway/gateway.ts'],
    ['scripts/commands/import.ts', '#scripts/rig/report.ts'],
    ['scripts/commands/import.ts', '#testing/start-gateway.ts'],
  ]
  for (const [path, specifier] of forbidden) {
    assert.equal(findingsFor(path, specifier).length, 1, `${path} must not import ${specifier}`)
  }
})

test('every form of import is detected, types included', () => {
  const lines = [
    `import type { A } from '#store/a.ts'`,
    `import { type B } from '#store/b.ts'`,
    `import * as c from '#store/c.ts'`,
    `export { d } from '#store/d.ts'`,
    `export * from '#store/e.ts'`,
    `export const load = () => import('#store/f.ts')`,
    `import '#store/g.ts'`,
    `import 'fs'`,
    `import '../store/h.ts'`,
  ]
  const file = parseImports('gateway/domain/a.ts', lines.join('\n'))
  assert.deepEqual(
    check
      .findings([file])
      .map((finding) => Number(finding.split(':')[1]))
      .sort((a, b) => a - b),
    lines.map((_, index) => index + 1),
  )
})

test('inside a layer imports are relative, between layers they use the # name', () => {
  assert.deepEqual(findingsFor('gateway/store/a.ts', './telemetry/b.ts'), [])
  assert.match(findingsFor('gateway/store/a.ts', '#store/telemetry/b.ts')[0] ?? '', /relative/)
  assert.match(findingsFor('gateway/services/a.ts', '../store/b.ts')[0] ?? '', /#name/)
  for (const path of ['elsewhere/a.ts', 'gateway/new-room/a.ts']) {
    assert.match(findingsFor(path, 'node:fs')[0] ?? '', /no line of the table/)
  }
})

test('circular imports of files and folders are found', () => {
  const source = (path: string, ...specifiers: string[]): SourceFile => ({
    path,
    imports: specifiers.map((specifier, line) => ({ specifier, line })),
  })
  assert.deepEqual(check.findings([source('gateway/store/a.ts', './b.ts'), source('gateway/store/b.ts')]), [])
  const files = check.findings([
    source('gateway/store/a.ts', './b.ts'),
    source('gateway/store/b.ts', './c.ts'),
    source('gateway/store/c.ts', './a.ts'),
  ])
  assert.match(files[0] ?? '', /^files .* gateway\/store\/a\.ts -> gateway\/store\/b\.ts -> gateway\/store\/c\.ts -> /)
  const rooms = check.findings([
    source('gateway/store/db/a.ts', '../telemetry/b.ts'),
    source('gateway/store/telemetry/c.ts', '../db/d.ts'),
  ])
  assert.deepEqual(rooms, [
    'rooms import each other in a circle: gateway/store/db/ -> gateway/store/telemetry/ -> gateway/store/db/',
  ])
})

test('a file that breaks the table fails the check', () => {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-imports-'))
  const run = () =>
    spawnSync(process.execPath, [join(ROOT, 'scripts/check/check-imports.ts')], {
      cwd: folder,
      encoding: 'utf8',
    })
  try {
    for (const name of ['AGENTS.md', 'package.json']) cpSync(join(ROOT, name), join(folder, name))
    mkdirSync(join(folder, 'gateway/store'), { recursive: true })
    writeFileSync(join(folder, 'gateway/store/a.ts'), `import 'better-sqlite3'\n`)
    assert.equal(run().status, 0)
    writeFileSync(join(folder, 'gateway/store/b.ts'), `\nimport type { Hono } from 'hono'\n`)
    const { status, stderr } = run()
    assert.equal(status, 1)
    assert.equal(stderr, 'gateway/store/b.ts:2: hono: not among what gateway/store/ may import\n')
  } finally {
    rmSync(folder, { recursive: true })
  }
})

const paths = globSync('{gateway,cloud-sync,shared,scripts}/**/*.{ts,tsx,mjs}', {
  cwd: ROOT,
  exclude: ['**/node_modules/**', '**/*.d.ts'],
})

test('the table lists existing and used entries only', () => {
  for (const { files } of rules) {
    assert.ok(existsSync(join(ROOT, files.replace('/**/*.test.ts', ''))), `there is no ${files}`)
  }
  const sources = readSources(ROOT, paths)
  const idle = rules
    .filter(({ packages: named }) => !named.includes('*'))
    .flatMap((rule) => {
      const used = sources
        .filter(({ path }) => check.ruleFor(path) === rule)
        .flatMap((file) => file.imports.map(({ specifier }) => check.folderBehind(file.path, specifier) ?? specifier))
      return [...rule.folders, ...rule.packages]
        .filter(
          (name) => !used.some((each) => each === name || each.startsWith(name.endsWith(':') ? name : `${name}/`)),
        )
        .map((name) => `${rule.files} does not import ${name}`)
    })
  assert.deepEqual(idle, [])
})
