import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, test } from 'node:test'
import { damagePage } from '#testing/damage/page-damage.ts'
import { type Connection, openReader } from '../db/connection.ts'
import { migrate } from '../migrate.ts'
import { openForSetup, openWriter } from '../writer/open.ts'
import { repairAtStart, tablesOfSize } from './start.ts'
import { repairTables } from './table-repair.ts'

// When SQLite creates a table, it moves the page after the last root page, and writes to the page that refers to it.

let folder: string
let path: string
let undamaged: string
let cases = 0

before(() => {
  folder = mkdtempSync(join(tmpdir(), 'cartbarn-spare-'))
  undamaged = join(folder, 'undamaged.db')
  const connection = openForSetup(undamaged)
  migrate(connection)
  connection.close()
  // as each start does
  assert.deepEqual(repairAtStart({ path: undamaged, openWriter }, []), [])
})

beforeEach(() => {
  path = join(folder, `${cases++}.db`)
  cpSync(undamaged, path)
})

after(() => rmSync(folder, { recursive: true, force: true }))

function read<Row>(sql: string): Row[] {
  const connection = openReader(path)
  try {
    return connection.all<Row>(sql)
  } finally {
    connection.close()
  }
}

const ROWS = 1000
const LARGE = 'x'.repeat(6000)

/** Inserts rows larger than a page if a column takes them, otherwise more rows than fit on a page. */
function fill(connection: Connection, table: string): void {
  connection.db.pragma('foreign_keys = OFF')
  connection.db.pragma('ignore_check_constraints = ON')
  connection.db.exec(`DELETE FROM ${table}`)
  const columns = connection.all<{ name: string; type: string }>('SELECT name, type FROM pragma_table_info(?)', table)
  const large = columns.findLast(({ type }) => type === 'TEXT' || type === 'BLOB')?.name
  const content = ({ name, type }: { name: string; type: string }, i: number) => {
    if (type !== 'TEXT' && type !== 'BLOB') return i
    const text = name === large && i < 20 ? `${i} ${LARGE}` : String(i)
    return type === 'TEXT' ? text : Buffer.from(text)
  }
  const insert = `INSERT OR IGNORE INTO ${table} VALUES (${columns.map(() => '?')})`
  connection.db.transaction(() => {
    for (let i = 1; i <= ROWS; i++) connection.run(insert, ...columns.map((column) => content(column, i)))
  })()
}

/** Creates tables, as a later version might, until the next one would move a page of this table or its indexes. */
function pushBehindRoots(connection: Connection, table: string): void {
  const names = connection
    .all<{ name: string }>('SELECT name FROM sqlite_schema WHERE tbl_name = ?', table)
    .map(({ name }) => name)
  for (let n = 1; !names.includes(nextMoved(connection)?.name ?? ''); n++) {
    assert.ok(n < 200, `${nextMoved(connection)?.name} is in the way`)
    connection.db.exec(`CREATE TABLE later_${n} (a)`)
  }
  connection.db.pragma('wal_checkpoint(TRUNCATE)')
}

function nextMoved(connection: Connection): Page | undefined {
  return connection.get<Page>(
    `SELECT name, pageno AS page, path FROM dbstat
     WHERE pageno > (SELECT max(rootpage) FROM sqlite_schema) ORDER BY pageno LIMIT 1`,
  )
}

interface Page {
  name: string
  page: number
  path: string
}

/** Returns the page that SQLite moves, and the page that refers to it. */
function pagesInTheWay(): { moved: Page; parent: Page } {
  const reader = openReader(path)
  const moved = nextMoved(reader)
  reader.close()
  assert.ok(moved)
  // the parent of the first overflow page is the page of its row, of any other the previous overflow page
  const [, row, number] = /^(.*\+)([0-9a-f]{6})$/.exec(moved.path) ?? []
  const before = number === undefined ? -1 : Number.parseInt(number, 16) - 1
  const above = before < 0 ? moved.path.replace(/[^/]+\/?$/, '') : `${row}${before.toString(16).padStart(6, '0')}`
  const [parent] = read<Page>(
    `SELECT name, pageno AS page, path FROM dbstat WHERE name = '${moved.name}' AND path = '${above}'`,
  )
  assert.ok(parent, `${moved.path} has no ${above}`)
  return { moved, parent }
}

for (const table of tablesOfSize('small', 'large').filter((name) => name !== 'sqlite_sequence')) {
  for (const which of ['moved', 'parent'] as const) {
    test(`${table} is recreated where its ${which} page blocks a new table`, () => {
      const connection = openWriter(path)
      fill(connection, table)
      pushBehindRoots(connection, table)
      connection.close()
      const place = pagesInTheWay()[which]
      damagePage(path, place.page, 'noise')
      const found = repairTables({ path, openWriter }, [table], false)
      const reported = found.map((one) => [one.place, one.outcome === 'unreadable' ? one.detail : 'begun'])
      // without page checksums, SQLite accepts any content of an overflow page as a value
      const isSeen = which === 'parent' || !place.path.includes('+')
      if (isSeen || reported.length > 0) assert.deepEqual(reported, [[table, 'begun']])
      assert.deepEqual(read(`PRAGMA quick_check('${table}')`), [{ quickCheck: 'ok' }])
      assert.deepEqual(repairTables({ path, openWriter }, [table], false), [])
    })
  }
}
