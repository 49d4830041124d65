import { join } from 'node:path'

/** Names of the store's files in the data folder. */
export const DATABASE = 'cartbarn.db'
export const DATABASE_LOG = 'cartbarn.db-wal'
export const DATABASE_INDEX_OF_LOG = 'cartbarn.db-shm'
/** Checksums of the pages; they are valid for this one database only. */
export const PAGE_SUMS = 'cartbarn.db-sums'
/** Identity of the database file that is open. */
export const OPEN_MARK = 'cartbarn.db-open'
/** Findings of the running or last gateway, for `doctor`, which may have no key. */
export const DAMAGE_NOTES = 'damage.json'

export function databasePath(dataDir: string): string {
  return join(dataDir, DATABASE)
}
