import type { Sql, SqlValue } from './database.ts'

/** Rows per statement: the protocol allows 65,535 parameters. */
const ROWS_AT_ONCE = 250

/** Inserts rows, many with each statement, and skips rows whose key exists. Returns the number of inserted rows. */
export async function insertRows(
  sql: Sql,
  table: string,
  columns: readonly string[],
  rows: readonly (readonly SqlValue[])[],
): Promise<number> {
  let inserted = 0
  for (let from = 0; from < rows.length; from += ROWS_AT_ONCE) {
    const some = rows.slice(from, from + ROWS_AT_ONCE)
    inserted += await sql.run(
      `INSERT INTO ${table} (${columns.join(', ')}) VALUES ${placeholders(some.length, columns.length)}
         ON CONFLICT DO NOTHING`,
      some.flat(),
    )
  }
  return inserted
}

/** Splits rows into chunks of one statement each. */
export function inChunks<T>(rows: readonly T[]): T[][] {
  const pieces: T[][] = []
  for (let from = 0; from < rows.length; from += ROWS_AT_ONCE) pieces.push(rows.slice(from, from + ROWS_AT_ONCE))
  return pieces
}

/** Returns `($1, $2), ($3, $4)`; with types for stand-alone lists, and numbered after `before` other parameters. */
export function placeholders(rows: number, columns: number, before = 0, types?: readonly string[]): string {
  const one = (row: number) =>
    Array.from({ length: columns }, (_, column) => {
      const place = `$${before + row * columns + column + 1}`
      return types === undefined ? place : `CAST(${place} AS ${types[column]})`
    })
  return Array.from({ length: rows }, (_, row) => `(${one(row).join(', ')})`).join(', ')
}
