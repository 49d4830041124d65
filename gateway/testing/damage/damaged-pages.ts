import { randomBytes } from 'node:crypto'
import { closeSync, openSync, writeSync } from 'node:fs'
import type Database from 'better-sqlite3'
import { silently } from '../silently.ts'

/** Page of the b-tree of a table or an index. */
export interface TreePage {
  page: number
  /** Kind of the page; overflow pages hold content that does not fit into a leaf. */
  kind: 'leaf' | 'internal' | 'overflow'
  /** Number of rows that begin on it. */
  cells: number
}

/** Returns the pages in the b-tree of a table or an index. */
export function pagesOf(db: Database.Database, name: string): TreePage[] {
  return db
    .prepare<[string], TreePage>(
      'SELECT pageno AS page, pagetype AS kind, ncell AS cells FROM dbstat WHERE name = ? ORDER BY pageno',
    )
    .all(name)
}

/** Content that a failing flash returns instead of a page. */
export const SPOILT_PAGES = {
  noise: () => randomBytes(4096),
  zeros: () => new Uint8Array(4096),
  ones: () => new Uint8Array(4096).fill(0xff),
} as const

/** Overwrites a page of a closed database with an empty log. */
export function spoilPage(path: string, page: number, content: Uint8Array): void {
  silently(path, () => {
    const file = openSync(path, 'r+')
    try {
      writeSync(file, content, 0, 4096, (page - 1) * 4096)
    } finally {
      closeSync(file)
    }
  })
}
