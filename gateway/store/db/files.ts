import { join } from 'node:path'

/** Names of what the store keeps in the data folder. */
export const DATABASE = 'cartbarn.db'
export const DATABASE_LOG = 'cartbarn.db-wal'
export const DATABASE_INDEX_OF_LOG = 'cartbarn.db-shm'
/** Checksums of the pages: those of the one database are wrong for another. */
export const PAGE_SUMS = 'cartbarn.db-sums'
/** As which file the database was open. */
export const OPEN_MARK = 'cartbarn.db-open'
/** Findings of the gateway that runs, or ran last, for `doctor`, which may have no key. */
export const DAMAGE_NOTES = 'damage.json'

export function databasePath(dataDir: string): string {
  return join(dataDir, DATABASE)
}
