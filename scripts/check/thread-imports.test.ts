import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { parseSync } from 'oxc-parser'
import { THREADS } from '#shared/thread.ts'
import { readAliases } from './import-table.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const aliases = readAliases(ROOT)

/** Returns the modules loaded with a file: without types, and without later imports. */
function loadedBy(path: string): string[] {
  const { module } = parseSync(path, readFileSync(join(ROOT, path), 'utf8'))
  const imports = module.staticImports.filter(
    ({ entries }) => entries.length === 0 || entries.some(({ isType }) => !isType),
  )
  return imports.map(({ moduleRequest }) => {
    const [name = '', ...rest] = moduleRequest.value.split('/')
    if (name.startsWith('.')) return posix.join(dirname(path), moduleRequest.value)
    return name.startsWith('#') ? `${aliases.get(name) ?? `${name}/`}${rest.join('/')}` : name
  })
}

/** Returns the chain of imports from a file to a package that it loads; null if it does not. */
function wayTo(wanted: string, start: string): string | null {
  const ways = new Map([[start, start]])
  for (const [path, way] of ways) {
    if (path === wanted) return way
    if (!path.endsWith('.ts')) continue
    for (const next of loadedBy(path)) if (!ways.has(next)) ways.set(next, `${way} -> ${next}`)
  }
  return null
}

const threadFile = (name: keyof typeof THREADS) => posix.join('shared', THREADS[name])

// each thread holds a copy of some 8 MB, as long as it lives
for (const name of ['writer', 'reader', 'upgrade'] as const) {
  test(`the ${name} thread does not load the schema library`, () => {
    assert.equal(wayTo('zod', threadFile(name)), null)
  })
}

test('what loads the schema library is found, with the way to it', () => {
  assert.match(String(wayTo('zod', 'gateway/config.ts')), /^gateway\/config\.ts -> (.* -> )?zod$/)
  assert.match(String(wayTo('better-sqlite3', threadFile('writer'))), /-> better-sqlite3$/)
})
