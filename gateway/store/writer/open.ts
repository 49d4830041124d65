import Database from 'better-sqlite3'
import { prepared, stopChecking } from '../db/connection.ts'
import { storeFaultCode } from '../db/fault.ts'
import { WriterTables } from '../telemetry/log-tail.ts'

/** Maximum wait for a lock of another program; queued items are retried after it. */
export const WRITER_BUSY_MS = 1000

/** Opens the database to create or upgrade it; creates the file. Throws without a write-ahead log. */
export function openForSetup(path: string): WriterTables {
  return prepared(new Database(path), (db) => {
    // the next line writes: a commit that is only in the index of the log would look like a lost one
    db.pragma('synchronous = FULL')
    // takes effect only before the first table is created
    db.pragma('auto_vacuum = INCREMENTAL')
    const mode = db.pragma('journal_mode = WAL', { simple: true })
    if (mode !== 'wal') throw new Error(`the file system does not support a write-ahead log (journal_mode ${mode})`)
    emptyLog(db)
    return configureWriter(db)
  })
}

/** Copies the log of the previous run into the database, so that later damage to the log cannot lose it. */
function emptyLog(db: Database.Database): void {
  try {
    db.pragma('wal_checkpoint(TRUNCATE)')
  } catch (error) {
    // the disk is full or damaged: the log stays, and the next read or write reports the fault
    if (storeFaultCode(error) === null) throw error
  }
}

/**
 * Opens the only writing connection. FULL: a commit is on the disk when it returns (NORMAL lost acknowledged messages
 * in simulated power cuts, and saves at most 5 % with group commit). `checksPages` false ignores page checksums.
 */
export function openWriter(path: string, checksPages = true): WriterTables {
  // an empty database in place of a deleted one would accept everything and lose it
  return prepared(new Database(path, { fileMustExist: true }), (db) => {
    if (!checksPages) stopChecking(db)
    return configureWriter(db)
  })
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
  // clears deleted and overwritten content in the pages that are written anyway
  db.pragma('secure_delete = FAST')
  return new WriterTables(db)
}
