import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { citusStatements, schemaStatements } from './schema.ts'

const HUB = new URL('../../', import.meta.url)

/** Tables without a site. */
const OF_NO_SITE = ['hub_user', 'hub_schema_version']

const tables = new Map<string, string>()
const indexes: { table: string; columns: string }[] = []
for (const statement of schemaStatements()) {
  const text = statement.replaceAll(/--.*$/gm, '')
  const table = /CREATE TABLE IF NOT EXISTS (\w+)/.exec(text)?.[1]
  const index = /CREATE (?:UNIQUE )?INDEX IF NOT EXISTS \w+ ON (\w+) \((.*)\)/.exec(text)
  if (table !== undefined) tables.set(table, text)
  else indexes.push({ table: index?.[1] ?? '', columns: index?.[2] ?? '' })
}

test('the statements are as many as there are', () => {
  assert.ok(tables.size >= 16, String(tables.size))
  assert.ok(indexes.length >= 3 && indexes.every(({ table }) => tables.has(table)))
})

test('the keys and indexes of every table of a site begin with the site', () => {
  for (const [table, text] of tables) {
    if (OF_NO_SITE.includes(table)) continue
    assert.match(text, /PRIMARY KEY \(site_id|^\s+site_id TEXT PRIMARY KEY/m, table)
    assert.match(text, /^\s+site_id TEXT/m, table)
  }
  for (const { table, columns } of indexes) {
    // indexes for queries over all sites
    if (!OF_NO_SITE.includes(table) && columns !== 'epoch, site_id') assert.match(columns, /^site_id, /, table)
  }
})

test('every table is spread by site or copied to all nodes', () => {
  const statements = citusStatements().join('')
  for (const table of tables.keys()) {
    const expected = OF_NO_SITE.includes(table)
      ? `create_reference_table('${table}')`
      : `create_distributed_table('${table}', 'site_id'`
    assert.ok(statements.includes(expected), table)
  }
})

test('no statement is one that not all databases of the dialect know', () => {
  const forbidden =
    /\b(BIG)?SERIAL\b|\bSEQUENCE\b|\bTRIGGER\b|\bLISTEN\b|\bNOTIFY\b|pg_advisory|\bREFERENCES\b|\bDO UPDATE\b|\bON DUPLICATE\b|\bMERGE INTO\b|\bLOCK TABLE\b/
  const files = globSync('**/*.{ts,sql}', { cwd: HUB, exclude: ['**/*.test.ts', 'testing/**'] })
  assert.ok(files.includes('store/database/schema.sql') && files.includes('store/sites.ts'))
  for (const file of files) {
    const found = forbidden.exec(readFileSync(new URL(file, HUB), 'utf8'))
    assert.equal(found, null, `${file}: ${found?.[0]}`)
  }
  assert.match('UPDATE x; CREATE TRIGGER y', forbidden)
})

test('every statement that writes names the site', () => {
  const files = globSync('store/**/*.ts', { cwd: HUB, exclude: ['**/*.test.ts'] })
  let statements = 0
  for (const file of files) {
    const text = readFileSync(new URL(file, HUB), 'utf8')
    for (const [statement, table] of text.matchAll(/(?:UPDATE|DELETE FROM) (\w+)\b(?:'\w*'|[^`';])*/g)) {
      if (OF_NO_SITE.includes(table ?? '') || !tables.has(table ?? '')) continue
      statements++
      assert.match(statement, /site_id = \$1/, `${file}: ${statement}`)
    }
  }
  assert.ok(statements > 10, String(statements))
})
