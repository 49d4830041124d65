import { join } from 'node:path'
import Database from 'better-sqlite3'
import { waitUntil } from '#scripts/rig/wait-until.ts'

const POLL_MS = 2

/** Resolves to true when a running gateway has committed a change of its blocks, to false after `limitMs`. */
export async function nextBlockChange(dataDir: string, limitMs: number): Promise<boolean> {
  const db = new Database(join(dataDir, 'cartbarn.db'), { readonly: true })
  try {
    // ids are never reused, so this grows with every block that is written
    const newest = db.prepare<[], number>("SELECT seq FROM sqlite_sequence WHERE name = 'telemetry_block'").pluck()
    const before = newest.get() ?? 0
    return await waitUntil(() => (newest.get() ?? 0) !== before, limitMs, POLL_MS)
  } finally {
    db.close()
  }
}
