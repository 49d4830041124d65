import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { damagePage, pageOf } from '#testing/damage/page-damage.ts'
import { fillSchema } from '#testing/rows-of-schema.ts'
import { openReader } from '../db/connection.ts'
import { migrate } from '../migrate.ts'
import { TABLES } from '../tables/all.ts'
import { openForSetup, openWriter } from '../writer/open.ts'
import { tablesOfSize } from './start.ts'
import { repairTables } from './table-repair.ts'

// Statements that follow the loss of rows read other tables and write to them, also by triggers.

let folder: string
let undamaged: string
let triggers: readonly { table: string; sql: string }[]

before(() => {
  folder = mkdtempSync(join(tmpdir(), 'cartbarn-together-'))
  undamaged = join(folder, 'undamaged.db')
  const connection = openForSetup(undamaged)
  migrate(connection)
  fillSchema(connection)
  triggers = connection.all(`SELECT tbl_name AS "table", sql FROM sqlite_schema WHERE type = 'trigger'`)
  connection.close()
})

after(() => rmSync(folder, { recursive: true, force: true }))

/** Returns the tables that are needed when rows of this table are lost. */
function neededBy(table: string): string[] {
  const made = triggers.filter((trigger) => trigger.table === table).map(({ sql }) => sql)
  const words = new Set([...(TABLES.get(table)?.care.afterLoss ?? []), ...made].join('\n').split(/\W+/))
  return tablesOfSize('small', 'large').filter((name) => name !== table && words.has(name))
}

function damagedDatabase(tables: readonly string[]): string {
  const path = join(folder, `${tables.join('-')}.db`)
  cpSync(undamaged, path)
  for (const table of tables) damagePage(path, pageOf(path, table), 'noise')
  return path
}

function assertWhole(path: string, tables: readonly string[]): void {
  const reader = openReader(path)
  for (const table of tables) assert.deepEqual(reader.all(`PRAGMA quick_check('${table}')`), [{ quickCheck: 'ok' }])
  reader.close()
}

test('a table and the tables it references are recreated when all of them are damaged', async (t) => {
  const tables = tablesOfSize('small', 'large').filter((table) => TABLES.get(table)?.care.afterLoss !== undefined)
  for (const table of tables) {
    const needed = neededBy(table)
    const sets = [...needed.map((one) => [one]), ...(needed.length > 1 ? [needed] : [])]
    for (const others of sets) {
      const damaged = [table, ...others]
      await t.test(damaged.join(', '), () => {
        const path = damagedDatabase(damaged)
        // as a start does
        const found = ['small', 'large'].flatMap((size) =>
          repairTables({ path, openWriter }, tablesOfSize(size), false),
        )
        assert.deepEqual(
          found.map(({ place, outcome, detail }) => (outcome === 'unreadable' ? detail : place)).sort(),
          damaged.toSorted(),
        )
        assertWhole(path, damaged)
      })
    }
  }
})
