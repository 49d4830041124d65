import { readFileSync, writeFileSync } from 'node:fs'
import Database from 'better-sqlite3'
import { silently } from '../silently.ts'

/** Page size of every database of this program. */
const PAGE_BYTES = 4096

/** Table or index, and one of its pages. */
export interface DamagePlace {
  name: string
  table: string
  page: number
}

/** Returns one page of each table and each index of a closed database: its last leaf. */
export function placesOf(path: string): DamagePlace[] {
  const db = new Database(path)
  try {
    db.pragma('wal_checkpoint(TRUNCATE)')
    // the last leaf, where most new rows go: damage of the root, which has no rows, would block all of them
    return db
      .prepare<[], DamagePlace>(
        `SELECT name, tbl_name AS "table", (SELECT pageno FROM dbstat
           WHERE dbstat.name = s.name AND pagetype = 'leaf' ORDER BY path DESC LIMIT 1) AS page
         FROM sqlite_schema s WHERE type IN ('table', 'index') ORDER BY name`,
      )
      .all()
  } finally {
    db.close()
  }
}

/** Returns the last leaf of a table or index of a closed database. */
export function pageOf(path: string, name: string): number {
  const db = new Database(path, { readonly: true })
  try {
    const row = db
      .prepare<[string], { page: number }>(
        "SELECT pageno AS page FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY path DESC LIMIT 1",
      )
      .get(name)
    if (row === undefined) throw new Error(`nothing is stored in ${name}`)
    return row.page
  } finally {
    db.close()
  }
}

/** Content that a failing disk returns for a page. */
export type DamageKind = 'noise' | 'zeros'

export function damagePage(path: string, page: number, kind: DamageKind): void {
  const file = readFileSync(path)
  for (let i = 0; i < PAGE_BYTES; i++) {
    file[(page - 1) * PAGE_BYTES + i] = kind === 'zeros' ? 0 : noiseOf(page * PAGE_BYTES + i)
  }
  silently(path, () => writeFileSync(path, file))
}

/** Deterministic pseudo-random number. */
function noiseOf(value: number): number {
  const half = Math.imul(value ^ (value >>> 15), 0x2c1b_3c6d)
  return (Math.imul(half ^ (half >>> 12), 0x297a_2d39) >>> 15) & 0xff
}
