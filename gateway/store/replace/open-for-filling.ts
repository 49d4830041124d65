import Database from 'better-sqlite3'
import { WriterTables } from '../telemetry/log-tail.ts'

/** Opens a new database that is filled at once: nothing of it is worth anything until it is whole, and synced at the end. */
export function openForFilling(path: string): WriterTables {
  const db = new Database(path)
  db.pragma('auto_vacuum = INCREMENTAL')
  db.pragma('journal_mode = MEMORY')
  db.pragma('synchronous = OFF')
  db.pragma('locking_mode = EXCLUSIVE')
  db.pragma('foreign_keys = OFF')
  db.pragma('cache_size = -65536')
  db.pragma('temp_store = MEMORY')
  return new WriterTables(db)
}
