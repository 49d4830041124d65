import { existsSync } from 'node:fs'
import Database from 'better-sqlite3'
import { createLog } from '#shared/log.ts'
import { type Connection, prepared } from '../db/connection.ts'
import { PageSums } from '../pages/page-sums.ts'
import { WriterTables } from '../telemetry/log-tail.ts'
import { sumsOf, syncDatabase } from './replace-database.ts'

/** Database that is filled in one go: it is useless until it is complete and closed, and only then on the disk. */
export class NewDatabase {
  readonly path: string
  readonly tables: WriterTables
  /** False without the extension for this system. */
  readonly hasSums: boolean
  readonly #sums: PageSums

  /**
   * Creates a database at `path`, where none exists. Keeping checksums enables page checks for all databases that this
   * process opens from then on. Throws the errors of SQLite and the file system.
   */
  constructor(path: string, keepsSums = true) {
    this.path = path
    this.#sums = new PageSums(path, createLog('silent'))
    if (keepsSums) this.#sums.prepare()
    this.hasSums = existsSync(sumsOf(path))
    this.tables = openForFilling(path)
  }

  /** Closes the database and flushes it to the disk. */
  close(): void {
    this.tables.close()
    // checksums are recorded while the database is written
    this.#sums.closed()
    if (existsSync(this.path)) syncDatabase(this.path)
  }
}

/** Returns the problems that SQLite finds in a database; empty if it is intact. */
export function integrityProblems(connection: Connection): string[] {
  return connection
    .all<{ integrityCheck: string }>('PRAGMA integrity_check')
    .map((row) => row.integrityCheck)
    .filter((text) => text !== 'ok')
}

function openForFilling(path: string): WriterTables {
  return prepared(new Database(path), (db) => {
    db.pragma('auto_vacuum = INCREMENTAL')
    db.pragma('journal_mode = MEMORY')
    db.pragma('synchronous = OFF')
    db.pragma('locking_mode = EXCLUSIVE')
    db.pragma('foreign_keys = OFF')
    db.pragma('cache_size = -65536')
    db.pragma('temp_store = MEMORY')
    return new WriterTables(db)
  })
}
