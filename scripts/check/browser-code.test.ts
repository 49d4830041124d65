import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { parseSync } from 'oxc-parser'
import { readAliases } from './import-table.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const ENTRY = 'gateway/dashboard/main.tsx'
/** Packages that the app contains; all others belong to the gateway and to its build tools. */
const PACKAGES = new Set([
  'preact',
  '@preact/signals',
  '@preact/signals-core',
  'ol',
  'uplot',
  'qrcode-generator',
  '@fontsource-variable/atkinson-hyperlegible-next',
])
const aliases = readAliases(ROOT)

/**
 * Returns the modules that a file needs at run time: imports and exports of values, `import()` included, without types.
 */
function valueImports(path: string): string[] {
  const text = readFileSync(join(ROOT, path), 'utf8')
  const { module, errors } = parseSync(path, text)
  assert.deepEqual(errors, [], path)
  const isValue = ({ entries }: { entries: readonly { isType: boolean }[] }) =>
    entries.length === 0 || entries.some(({ isType }) => !isType)
  return [
    ...module.staticImports.filter(isValue).map(({ moduleRequest }) => moduleRequest.value),
    ...module.staticExports
      .flatMap(({ entries }) => entries)
      .filter(({ isType }) => !isType)
      .flatMap(({ moduleRequest }) => (moduleRequest === null ? [] : [moduleRequest.value])),
    ...module.dynamicImports.map(({ moduleRequest: { start, end } }) => text.slice(start + 1, end - 1)),
  ]
}

/** Returns the path of one of our files; null for a package. */
function targetOf(path: string, specifier: string): string | null {
  if (specifier.startsWith('.')) return posix.join(dirname(path), specifier)
  if (!specifier.startsWith('#')) return null
  const [name = '', ...rest] = specifier.split('/')
  return `${aliases.get(name) ?? ''}${rest.join('/')}`
}

function packageOf(specifier: string): string {
  const [scope = '', name = ''] = specifier.split('/')
  return specifier.startsWith('@') ? `${scope}/${name}` : scope
}

test('nothing that runs in the browser brings along zod, Node, or a package of the gateway', () => {
  const cameFrom = new Map<string, string>([[ENTRY, '']])
  const wrong: string[] = []
  for (const path of cameFrom.keys()) {
    if (path.endsWith('.css')) continue
    for (const specifier of valueImports(path)) {
      const target = targetOf(path, specifier)
      if (target === null && !PACKAGES.has(packageOf(specifier)))
        wrong.push(`${specifier}, by ${wayTo(path, cameFrom)}`)
      if (target !== null && !cameFrom.has(target)) cameFrom.set(target, path)
    }
  }
  assert.deepEqual(wrong, [])
  // proves that an empty result means that nothing exists
  assert.ok(cameFrom.has('gateway/dashboard/screens/sign-in/set-up.tsx'), 'what is loaded later is looked at')
  assert.ok(cameFrom.has('shared/client.ts'), 'what is shared is looked at')
  assert.ok([...cameFrom.keys()].length > 40)
})

/** Returns `c <- b <- a`, from a file back to the one that the page loads. */
function wayTo(path: string, cameFrom: ReadonlyMap<string, string>): string {
  const way = [path]
  for (let from = cameFrom.get(path); from !== undefined && from !== ''; from = cameFrom.get(from)) way.push(from)
  return way.join(' <- ')
}

test('no two style sheets of screens begin a rule with the same class: they stay when a screen is left', () => {
  const sheetsOf = new Map<string, Set<string>>()
  // those of `ui/` have rules for several screens
  for (const sheet of globSync('gateway/dashboard/{screens,map}/**/*.css', { cwd: ROOT })) {
    for (const [, name = ''] of readFileSync(join(ROOT, sheet), 'utf8').matchAll(/^\.([\w-]+)(?![\w-]*\.)/gm))
      sheetsOf.set(name, (sheetsOf.get(name) ?? new Set()).add(sheet))
  }
  const shared = [...sheetsOf].filter(([, sheets]) => sheets.size > 1)
  assert.deepEqual(
    shared.map(([name, sheets]) => `.${name}: ${[...sheets].sort().join(', ')}`),
    [],
  )
})
