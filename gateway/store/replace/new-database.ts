import { existsSync } from 'node:fs'
import Database from 'better-sqlite3'
import { createLog } from '#shared/log.ts'
import type { Connection } from '../db/connection.ts'
import { PageSums } from '../pages/page-sums.ts'
import { WriterTables } from '../telemetry/log-tail.ts'
import { sumsOf, syncDatabase } from './replace-database.ts'

/**
 * A database that is filled at once: nothing of it is worth anything until it is whole and closed, and then it is on
 * the disk.
 */
export class NewDatabase {
  readonly path: string
  readonly tables: WriterTables
  /** Never without the extension for this system. */
  readonly hasSums: boolean
  readonly #sums: PageSums

  /**
   * Begins one at `path`, where none is. To keep checksums of its pages has the pages of all databases checked that
   * this process opens from then on. Throws what SQLite and the file system throw.
   */
  constructor(path: string, keepsSums = true) {
    this.path = path
    this.#sums = new PageSums(path, createLog('silent'))
    if (keepsSums) this.#sums.prepare()
    this.hasSums = existsSync(sumsOf(path))
    this.tables = openForFilling(path)
  }

  /** Closes it and brings it to the disk. */
  close(): void {
    this.tables.close()
    // while it is made they are noted as it is written
    this.#sums.closed()
    if (existsSync(this.path)) syncDatabase(this.path)
  }
}

/** What SQLite finds wrong with a database; nothing for one that is in order. */
export function integrityProblems(connection: Connection): string[] {
  return connection
    .all<{ integrityCheck: string }>('PRAGMA integrity_check')
    .map((row) => row.integrityCheck)
    .filter((text) => text !== 'ok')
}

function openForFilling(path: string): WriterTables {
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
