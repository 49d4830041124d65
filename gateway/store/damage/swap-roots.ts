import type { Connection } from '../db/connection.ts'

/** Two tables, or two indexes, that are alike. */
export interface RootPair {
  readonly name: string
  readonly other: string
}

/**
 * Swaps the pages of tables and indexes: each has those of the other from now on. What the pages hold is not read. The
 * caller has the transaction, in which something was created: only so other connections hear of it.
 */
export function swapRoots(writing: Connection, pairs: readonly RootPair[]): void {
  writing.db.pragma('writable_schema = ON')
  for (const { name, other } of pairs) {
    const root = rootOf(writing, name)
    setRoot(writing, name, rootOf(writing, other))
    setRoot(writing, other, root)
  }
  // also reads the schema again
  writing.db.pragma('writable_schema = RESET')
}

function rootOf(writing: Connection, name: string): number {
  const row = writing.get<{ root: number }>(
    "SELECT rootpage AS root FROM sqlite_schema WHERE name = ? AND type IN ('table', 'index')",
    name,
  )
  if (row === undefined) throw new Error(`the database has no ${name}`)
  return row.root
}

function setRoot(writing: Connection, name: string, root: number): void {
  const sql = "UPDATE sqlite_schema SET rootpage = ? WHERE name = ? AND type IN ('table', 'index')"
  writing.run(sql, root, name)
}
