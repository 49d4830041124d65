import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const PATH = /`((?:gateway|cloud-sync|shared|scripts|docs)\/[\w./-]+\.\w+)`/g
/** In a recipe capitals stand for a name. */
const PLACEHOLDER = /\/[A-Z]+\./

test('the files that documents name exist', () => {
  const documents = globSync(['*.md', 'docs/**/*.md'], { cwd: ROOT, exclude: ['CHANGELOG.md'] })
  const named = documents.flatMap((document) =>
    [...readFileSync(join(ROOT, document), 'utf8').matchAll(PATH)].map(([, path = '']) => ({ document, path })),
  )
  assert.ok(named.length > 100, String(named.length))
  const missing = named.filter(({ path }) => !PLACEHOLDER.test(path) && !existsSync(join(ROOT, path)))
  assert.deepEqual(missing, [])
})
