import type { Connection } from '../db/connection.ts'
import { detachedName } from '../db/detached.ts'
import { isSpareRoot, takeSpareRoots } from './spare-roots.ts'
import type { RootPair } from './swap-roots.ts'

/** An empty table like another one, under a name of its own. */
export interface ReplacementTable {
  readonly table: string
  /** The table and its indexes, each with what it is called in the twin. */
  readonly pairs: readonly RootPair[]
}

/**
 * Makes the twin of a table with all its indexes, and without triggers or references; the caller has the transaction.
 * `takesSpares` where a damaged page is in the way of anything new.
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
    // numbers are given by the table, and whoever refers to it looks for rows there
    const plain = sql?.replaceAll(' AUTOINCREMENT', '').replaceAll(/ REFERENCES \w+ \(\w+\)( ON DELETE CASCADE)?/g, '')
    writing.db.exec((plain ?? '').replace(/^CREATE TABLE "?\w+"?/, `CREATE TABLE ${name}`))
  }
  const pairs = parts.map((part) => ({ name: part.name, other: otherName(part, table, name) }))
  for (const [i, { type, sql }] of parts.entries()) {
    // the others came with the table
    if (type === 'index' && sql !== null) writing.db.exec(indexSql(sql, pairs[i]?.other ?? '', name))
  }
  return { table: name, pairs }
}

/**
 * The statement that makes an index, for another one on another table. SQLite quotes the name of a table that was
 * renamed.
 */
export function indexSql(sql: string, index: string, table: string): string {
  return sql.replace(/ INDEX \w+\s+ON "?\w+"?/, ` INDEX ${index} ON ${table}`)
}

function otherName(
  { type, name, sql }: { type: string; name: string; sql: string | null },
  table: string,
  twin: string,
): string {
  if (type === 'table') return twin
  // SQLite's own have the name of the table in theirs
  return sql === null ? name.replace(`sqlite_autoindex_${table}_`, `sqlite_autoindex_${twin}_`) : `${twin}_${name}`
}
