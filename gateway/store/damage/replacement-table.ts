import type { Connection } from '../db/connection.ts'
import { detachedName } from '../db/detached.ts'
import { isSpareRoot, takeSpareRoots } from './spare-roots.ts'
import type { RootPair } from './swap-roots.ts'

/** Empty table with the structure of another one, under its own name. */
export interface ReplacementTable {
  readonly table: string
  /** The table and its indexes, each with the name of its replacement. */
  readonly pairs: readonly RootPair[]
}

/**
 * Creates the replacement of a table with all its indexes, without triggers and references; the caller holds the
 * transaction. `takesSpares` if a damaged page blocks the creation of tables and indexes.
 */
export function createReplacementTable(writing: Connection, table: string, takesSpares = false): ReplacementTable {
  const name = detachedName(writing, table)
  const parts = writing
    .all<{ type: string; name: string; sql: string | null }>(
      "SELECT type, name, sql FROM sqlite_schema WHERE tbl_name = ? AND type IN ('table', 'index') ORDER BY rootpage",
      table,
    )
    .filter(({ name: part }) => !isSpareRoot(part))
  if (takesSpares) takeSpareRoots(writing, parts.length)
  for (const { sql } of parts.filter(({ type }) => type === 'table')) {
    // the original table assigns the numbers, and references lead to the original table
    const plain = sql?.replaceAll(' AUTOINCREMENT', '').replaceAll(/ REFERENCES \w+ \(\w+\)( ON DELETE CASCADE)?/g, '')
    writing.db.exec((plain ?? '').replace(/^CREATE TABLE "?\w+"?/, `CREATE TABLE ${name}`))
  }
  const pairs = parts.map((part) => ({ name: part.name, other: otherName(part, table, name) }))
  for (const [i, { type, sql }] of parts.entries()) {
    // SQLite created the others with the table
    if (type === 'index' && sql !== null) writing.db.exec(indexSql(sql, pairs[i]?.other ?? '', name))
  }
  return { table: name, pairs }
}

/** Adapts the statement that creates an index to another name and table. SQLite quotes the name of a renamed table. */
export function indexSql(sql: string, index: string, table: string): string {
  return sql.replace(/ INDEX \w+\s+ON "?\w+"?/, ` INDEX ${index} ON ${table}`)
}

function otherName(
  { type, name, sql }: { type: string; name: string; sql: string | null },
  table: string,
  replacement: string,
): string {
  if (type === 'table') return replacement
  // names of SQLite's own indexes contain the name of the table
  return sql === null
    ? name.replace(`sqlite_autoindex_${table}_`, `sqlite_autoindex_${replacement}_`)
    : `${replacement}_${name}`
}
