import type { Connection } from './connection.ts'

/** True if the table is a detached one, which holds the rows set apart from a damaged table. */
export function isDetached(table: string): boolean {
  return /^damaged_\w+_\d+$/.test(table)
}

/** Table that a detached table belonged to. */
export function originOf(detached: string): string {
  return detached.replace(/^damaged_(index_)?/, '').replace(/_\d+$/, '')
}

/** Next free name for a detached table. */
export function detachedName(writing: Connection, table: string): string {
  for (let n = 1; ; n++) {
    const name = `damaged_${table}_${n}`
    if (writing.get('SELECT 1 FROM sqlite_schema WHERE name = ?', name) === undefined) return name
  }
}
