import type { Connection } from './connection.ts'

/** Identifier quoted for SQL. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

export function columnsOf({ db }: Connection, table: string): string[] {
  return db.prepare<[string], string>('SELECT name FROM pragma_table_info(?) ORDER BY cid').pluck().all(table)
}

/** Key columns of a table's own b-tree, quoted: `rowid`, or its primary key. */
export function keyColumns({ db }: Connection, table: string): string[] {
  const list = db.prepare<[string], number>("SELECT wr FROM pragma_table_list(?) WHERE schema <> 'temp'").pluck()
  if (list.get(table) !== 1) return ['rowid']
  const keys = db.prepare<[string], string>('SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk')
  return keys.pluck().all(table).map(quoted)
}
