import { createHash } from 'node:crypto'
import Sqlite from 'better-sqlite3'
import type { Finding } from '../bottle.ts'

/** Tables that a restore rewrites: for a new epoch, and for the computer on which the course continues. */
const REWRITTEN = ['sync_epoch', 'sync_identity', 'sync_cursor', 'machine']
const MOST = 5

type Rows = ReadonlyMap<string, string>

/** Compares each table of a restored database with copies from before and after its backup. */
export function compareRows(restored: string, before: string, after: string): Finding[] {
  const [is, from, to] = [restored, before, after].map((path) => new Sqlite(path)) as [Database, Database, Database]
  try {
    const names = tablesOf(from)
    const missing = names.filter((name) => !tablesOf(is).includes(name))
    return [
      ...missing.map((name) => ({ subject: name, is: 'no such table in a restored backup', expected: 'the table' })),
      ...names
        .filter((name) => !missing.includes(name) && !REWRITTEN.includes(name))
        .flatMap((name) => compareTable(name, rowsOf(is, name), rowsOf(from, name), rowsOf(to, name))),
    ]
  } finally {
    for (const database of [is, from, to]) database.close()
  }
}

type Database = InstanceType<typeof Sqlite>

/** Tables whose rows may come and go while a backup is made. */
const PASSING = ['mqtt_queued', 'mqtt_received', 'delivery']

/** A row that did not change meanwhile must be there, and no row that was neither before nor after. */
function compareTable(subject: string, is: Rows, from: Rows, to: Rows): Finding[] {
  const found: Finding[] = []
  for (const [key, row] of from)
    if (to.get(key) === row && is.get(key) !== row)
      found.push({ subject, is: `row ${key} ${is.has(key) ? 'differs' : 'is missing'}`, expected: 'as it was' })
  for (const key of is.keys())
    if (!from.has(key) && !to.has(key) && !PASSING.includes(subject))
      found.push({ subject, is: `row ${key}`, expected: 'no such row' })
  return found.slice(0, MOST)
}

function tablesOf(database: Database): string[] {
  return database
    .prepare<[], string>("SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'")
    .pluck()
    .all()
    .filter((name) => !name.startsWith('sqlite_'))
    .toSorted()
}

function rowsOf(database: Database, table: string): Map<string, string> {
  const keys = database
    .prepare<[string], string>('SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk')
    .pluck()
    .all(table)
  const key = keys.length === 0 ? 'rowid' : keys.join(', ')
  const columns = keys.length === 0 ? 1 : keys.length
  const rows = new Map<string, string>()
  for (const row of database.prepare<[], unknown[]>(`SELECT ${key}, * FROM ${table}`).raw().iterate())
    rows.set(row.slice(0, columns).map(String).join(' '), sumOf(row.slice(columns)))
  return rows
}

function sumOf(row: readonly unknown[]): string {
  const hash = createHash('sha256')
  for (const value of row) hash.update(typeof value === 'object' && value !== null ? (value as Buffer) : `${value}|`)
  return hash.digest('base64')
}
