import type { Connection } from './connection.ts'

/** What is set aside of a damaged table is in tables of this name. */
export function isDetached(table: string): boolean {
  return /^damaged_\w+_\d+$/.test(table)
}

/** The table whose rows it has. */
export function originOf(aside: string): string {
  return aside.replace(/^damaged_(index_)?/, '').replace(/_\d+$/, '')
}

/** The next free name for what is set aside of a table. */
export function detachedName(writing: Connection, table: string): string {
  for (let n = 1; ; n++) {
    const name = `damaged_${table}_${n}`
    if (writing.get('SELECT 1 FROM sqlite_schema WHERE name = ?', name) === undefined) return name
  }
}
