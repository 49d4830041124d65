import { statSync } from 'node:fs'
import type { TableRepair } from '../damage/table-repair.ts'
import { repairPages } from '../damage/wrong-bits.ts'
import { type Connection, prepared } from '../db/connection.ts'
import { DatabaseMovedError, isDamage, isWrongSum, storeFaultCode } from '../db/fault.ts'
import { clearOpenMarker } from '../db/open-marker.ts'
import type { WriterTables } from '../telemetry/log-tail.ts'
import { saveStates } from '../telemetry/save-states.ts'
import { openWriter, WRITER_BUSY_MS } from './open.ts'

/** Size of the log from which it is copied into the database: 16 MB. */
const CHECKPOINT_PAGES = 4000
/** Growth of the log before a failed checkpoint is retried. */
const CHECKPOINT_RETRY_PAGES = 1000
/** Longer than any own reader needs for a page. No wait for readers of other programs: they would delay commits. */
const CHECKPOINT_WAIT_MS = 100

interface Opened {
  connection: WriterTables
  inTransaction: ReturnType<typeof transactionOf>
  logSize: { get(): LogSize | undefined }
}

interface LogSize {
  log: number
  checkpointed: number
}

/**
 * Writing connection, opened on the first write. Closed after a fault of the store, so that nothing cached by SQLite or
 * the system about a failed write is relied on, and a file that could only be opened read-only is opened again.
 */
export class WriterConnection {
  readonly #path: string
  readonly #inode: bigint
  #opened: Opened | undefined
  #checkpointAtPages = CHECKPOINT_PAGES
  /** A commit failed, possibly after it was in the log. */
  #hasFailed = false
  #checksPages = true

  /** `inode` is that of the database file when the store started. */
  constructor(path: string, inode: bigint) {
    this.#path = path
    this.#inode = inode
  }

  /** Runs `work` in a transaction. When this returns, it is on the disk, in the file at the path. */
  transaction<Result>(work: (connection: WriterTables) => Result): Result {
    try {
      // checked before opening: the log at this path belongs to the original file, and would damage another one
      if (this.#opened === undefined) this.#requireUnmoved()
      this.#opened ??= open(this.#path, this.#checksPages)
      const { connection, inTransaction } = this.#opened
      const result = inTransaction.immediate(() => work(connection))
      connection.tail.committed()
      this.#requireUnmoved()
      // the result of the caller's own `work`, which a transaction returns unchanged
      return result as Result
    } catch (error) {
      this.#opened?.connection.tail.rolledBack()
      const code = storeFaultCode(error)
      if (code !== null) this.#fail(code)
      throw error
    }
  }

  #fail(code: string): void {
    this.close()
    // a damaged page is met before anything is committed
    if (isDamage(code)) return
    this.#hasFailed = true
    this.#checkpointAtPages = 0
  }

  /** Runs `work` on a connection that ignores page checksums, for content with checksums of its own. */
  withoutChecks<Result>(work: () => Result): Result {
    this.close()
    this.#checksPages = false
    try {
      return work()
    } finally {
      this.#checksPages = true
      this.close()
    }
  }

  /** Makes a commit that changes nothing but reaches the disk, to test that the store can be written. */
  probe(): void {
    this.transaction(({ db }) => {
      db.pragma(`user_version = ${db.pragma('user_version', { simple: true })}`)
    })
  }

  /**
   * Copies the log into the database once it has grown. SQLite would do it automatically after a commit, but does not
   * report a failure. FULL waits for readers and so copies all of the log or nothing: SQLite records a partial copy
   * without a sync, and a sync that fails later can lose it. After a failed commit the log is emptied, because its
   * remains after later commits would look acknowledged to the check of the log at a start. Throws the errors of
   * SQLite; committed data stays in the log and is safe there.
   */
  checkpointIfDue(): void {
    const { connection, logSize } = this.#opened ?? {}
    const size = logSize?.get()
    if (connection === undefined || size === undefined) return
    if (size.log >= this.#checkpointAtPages) this.#checkpoint(connection, size)
  }

  /** Number of free pages of the file; 0 while it is closed. Throws the errors of SQLite. */
  freePages(): number {
    try {
      return Number(this.#opened?.connection.db.pragma('freelist_count', { simple: true }) ?? 0)
    } catch (error) {
      this.close()
      throw error
    }
  }

  /**
   * Returns up to `pages` free pages to the file system, which take effect at the next checkpoint; runs one after the
   * last page. Returns the number of pages still free. Throws the errors of SQLite.
   */
  giveBack(pages: number): number {
    this.transaction(({ db }) => db.pragma(`incremental_vacuum(${pages})`))
    const left = this.freePages()
    const { connection, logSize } = this.#opened ?? {}
    const size = logSize?.get()
    if (left === 0 && connection !== undefined && size !== undefined) this.#checkpoint(connection, size)
    return left
  }

  #checkpoint(connection: Connection, size: LogSize): void {
    if (size.checkpointed === size.log && !this.#hasFailed) return
    try {
      connection.db.pragma(`busy_timeout = ${CHECKPOINT_WAIT_MS}`)
      const [done] = connection.all<{ busy: number }>(`PRAGMA wal_checkpoint(${this.#hasFailed ? 'TRUNCATE' : 'FULL'})`)
      connection.db.pragma(`busy_timeout = ${WRITER_BUSY_MS}`)
      this.#hasFailed &&= done?.busy !== 0
      this.#checkpointAtPages = done?.busy === 0 ? CHECKPOINT_PAGES : size.log + CHECKPOINT_RETRY_PAGES
    } catch (error) {
      this.#checkpointAtPages = size.log + CHECKPOINT_RETRY_PAGES
      this.close()
      throw error
    }
  }

  /** Empties the log into the database: no old content stays. False if readers need it. Throws errors of SQLite. */
  truncateLog(): boolean {
    this.#requireUnmoved()
    try {
      this.#opened ??= open(this.#path, this.#checksPages)
      const { db } = this.#opened.connection
      db.pragma(`busy_timeout = ${CHECKPOINT_WAIT_MS}`)
      const busy = db.pragma('wal_checkpoint(TRUNCATE)', { simple: true })
      db.pragma(`busy_timeout = ${WRITER_BUSY_MS}`)
      return busy === 0
    } catch (error) {
      this.close()
      throw error
    }
  }

  /** Brings the states of devices up to the end of the telemetry log. Throws the errors of SQLite. */
  saveStates(): void {
    try {
      this.transaction(saveStates)
    } catch (error) {
      // the log has checksums of its own
      if (!isWrongSum(storeFaultCode(error))) throw error
      this.withoutChecks(() => this.transaction(saveStates))
    }
  }

  /** Saves the states of devices, copies the log into the database and closes it. */
  finish(): void {
    try {
      this.saveStates()
    } catch (error) {
      // the log contains the states; the next steps report the fault of the disk
      if (storeFaultCode(error) === null) throw error
    }
    this.#requireUnmoved()
    this.#opened ??= open(this.#path, this.#checksPages)
    const { db } = this.#opened.connection
    db.pragma('wal_checkpoint(TRUNCATE)')
    clearOpenMarker(db)
    this.close()
  }

  /** Repairs pages in which reads found one wrong bit, and returns them. Does nothing while closed. */
  repairPages(): TableRepair[] {
    const { connection } = this.#opened ?? {}
    return connection === undefined ? [] : repairPages(connection)
  }

  close(): void {
    try {
      this.#opened?.connection.close()
    } catch {
      // the connection is useless now, closed or not
    }
    this.#opened = undefined
  }

  // Same check as SQLite makes with a rollback journal (SQLITE_READONLY_DBMOVED), but not with a write-ahead log.
  #requireUnmoved(): void {
    let inode: bigint | undefined
    try {
      inode = statSync(this.#path, { bigint: true, throwIfNoEntry: false })?.ino
    } catch {
      // an inaccessible folder proves nothing about the open file
      return
    }
    if (inode === this.#inode) return
    throw new DatabaseMovedError(
      `the database ${inode === undefined ? 'is gone' : 'was replaced by another file'}: ${this.#path}`,
    )
  }
}

function open(path: string, checksPages: boolean): Opened {
  const connection = openWriter(path, checksPages)
  return prepared(connection.db, (db) => ({
    connection,
    inTransaction: transactionOf(connection),
    logSize: db.prepare<[], LogSize>('PRAGMA wal_checkpoint(NOOP)'),
  }))
}

function transactionOf({ db }: Connection) {
  return db.transaction((work: () => unknown) => work())
}
