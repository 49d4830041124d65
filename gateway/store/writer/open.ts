import Database from 'better-sqlite3'
import { stopChecking } from '../db/connection.ts'
import { storeFaultCode } from '../db/fault.ts'
import { WriterTables } from '../telemetry/log-tail.ts'

/** How long a lock of another program is waited for; what is queued is tried again after it. */
export const WRITER_BUSY_MS = 1000

/** Opens the database to be made or upgraded; makes the file. Throws when it cannot have a write-ahead log. */
export function openForSetup(path: string): WriterTables {
  const db = new Database(path)
  // counts only before the first table is made
  db.pragma('auto_vacuum = INCREMENTAL')
  const mode = db.pragma('journal_mode = WAL', { simple: true })
  if (mode !== 'wal') throw new Error(`no write-ahead log is possible here (journal_mode ${mode})`)
  emptyLog(db)
  return configureWriter(db)
}

/**
 * What the last life left in the log goes into the database at once, so that no damage to the log can cost it later.
 */
function emptyLog(db: Database.Database): void {
  try {
    db.pragma('wal_checkpoint(TRUNCATE)')
  } catch (error) {
    // a disk that is full or damaged: the log stays, and whoever writes or reads next says what is wrong
    if (storeFaultCode(error) === null) throw error
  }
}

/**
 * The one connection that writes, to a database that is there. FULL: a commit is on the disk when it returns (NORMAL
 * lost acknowledged messages in simulated power cuts, and costs 5 % less at most once commits are grouped).
 * `checksPages` false takes pages as they are.
 */
export function openWriter(path: string, checksPages = true): WriterTables {
  // an empty database in the place of one that was deleted would take everything and keep nothing
  const db = new Database(path, { fileMustExist: true })
  if (!checksPages) stopChecking(db)
  return configureWriter(db)
}

function configureWriter(db: Database.Database): WriterTables {
  db.pragma('synchronous = FULL')
  db.pragma('foreign_keys = ON')
  db.pragma(`busy_timeout = ${WRITER_BUSY_MS}`)
  // the writer thread does it itself, see WriterConnection
  db.pragma('wal_autocheckpoint = 0')
  db.pragma('journal_size_limit = 67108864')
  db.pragma('cache_size = -16384')
  db.pragma('temp_store = MEMORY')
  // what is deleted or overwritten is not left in the pages that are written anyway
  db.pragma('secure_delete = FAST')
  return new WriterTables(db)
}
