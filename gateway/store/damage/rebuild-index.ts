import type { Connection } from '../db/connection.ts'
import { detachedName } from '../db/detached.ts'
import { indexSql } from './replacement-table.ts'
import { takeSpareRoots } from './spare-roots.ts'
import { swapRoots } from './swap-roots.ts'

/**
 * Rebuilds an index from the rows of its table. The damaged pages stay in the file, in an empty table. The caller holds
 * the transaction. `takesSpares` if a damaged page blocks the creation of tables and indexes.
 */
export function rebuildIndex(writing: Connection, table: string, index: string, takesSpares = false): void {
  if (takesSpares) takeSpareRoots(writing, 2)
  // differs from names of detached tables, because blocks of those are read
  const detached = detachedName(writing, `index_${table}`)
  const columns = writing.all<{ name: string }>('SELECT name FROM pragma_table_info(?)', table)
  writing.db.exec(`CREATE TABLE ${detached} (${columns.map(({ name }) => `"${name}"`).join(', ')})`)
  const other = `${detached}_${index}`
  const sql = sqlOf(writing, table, index)
  writing.db.exec(indexSql(sql, other, table))
  swapRoots(writing, [{ name: index, other }])
  writing.db.pragma('writable_schema = ON')
  writing.run(
    "UPDATE sqlite_schema SET tbl_name = ?, sql = ? WHERE type = 'index' AND name = ?",
    detached,
    indexSql(sql, other, detached),
    other,
  )
  writing.db.pragma('writable_schema = RESET')
}

function sqlOf(writing: Connection, table: string, index: string): string {
  const row = writing.get<{ sql: string | null }>(
    "SELECT sql FROM sqlite_schema WHERE type = 'index' AND name = ?",
    index,
  )
  if (typeof row?.sql === 'string') return row.sql
  // index of a constraint of the table
  const columns = writing.all<{ name: string }>('SELECT name FROM pragma_index_info(?)', index)
  return `CREATE UNIQUE INDEX ${index} ON ${table} (${columns.map(({ name }) => name).join(', ')})`
}
