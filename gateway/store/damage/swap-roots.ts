import type { Connection } from '../db/connection.ts'

/** Two tables, or two indexes, with the same structure. */
export interface RootPair {
  readonly name: string
  readonly other: string
}

/** Swaps root pages unread. Other connections notice it only if the caller's transaction created a table or index. */
export function swapRoots(writing: Connection, pairs: readonly RootPair[]): void {
  writing.db.pragma('writable_schema = ON')
  for (const { name, other } of pairs) {
    const root = rootOf(writing, name)
    setRoot(writing, name, rootOf(writing, other))
    setRoot(writing, other, root)
  }
  // also makes SQLite read the schema again
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
