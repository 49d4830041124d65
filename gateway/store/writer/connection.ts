import { statSync } from 'node:fs'
import type { TableRepair } from '../damage/table-repair.ts'
import { repairPages } from '../damage/wrong-bits.ts'
import type { Connection } from '../db/connection.ts'
import { DatabaseMovedError, isDamage, isWrongSum, storeFaultCode } from '../db/fault.ts'
import { clearOpenMarker } from '../db/open-marker.ts'
import type { WriterTables } from '../telemetry/log-tail.ts'
import { saveStates } from '../telemetry/save-states.ts'
import { openWriter, WRITER_BUSY_MS } from './open.ts'

/** The log is copied into the database from this size on: 16 MB. */
const CHECKPOINT_PAGES = 4000
/** How much the log grows before a checkpoint that failed is tried again. */
const CHECKPOINT_RETRY_PAGES = 1000
/**
 * Longer than any reader of the gateway takes for a page; other programs' readers are not waited for, or every commit
 * would wait.
 */
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
 * The connection that writes, opened when there is something to write. After a fault of the store it is closed: nothing
 * that SQLite or the system remembers of a write that failed is relied on, and a file that could only be opened
 * read-only is opened again.
 */
export class WriterConnection {
  readonly #path: string
  readonly #inode: bigint
  #opened: Opened | undefined
  #checkpointAtPages = CHECKPOINT_PAGES
  /** A commit failed, perhaps after it was in the log. */
  #hasFailed = false
  #checksPages = true

  /** `inode` is that of the database when the store started. */
  constructor(path: string, inode: bigint) {
    this.#path = path
    this.#inode = inode
  }

  /** Runs `work` in a transaction. When this returns, it is on the disk, in the file at the path. */
  transaction<Result>(work: (connection: WriterTables) => Result): Result {
    try {
      // before it is opened: the log at this path belongs to the file that was there, and would damage another
      if (this.#opened === undefined) this.#requireUnmoved()
      this.#opened ??= open(this.#path, this.#checksPages)
      const { connection, inTransaction } = this.#opened
      const result = inTransaction.immediate(() => work(connection))
      connection.tail.committed()
      this.#requireUnmoved()
      // the caller gets what its own `work` returned: a transaction hands it through
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
    // a damaged page is met before there is anything to commit
    if (isDamage(code)) return
    this.#hasFailed = true
    this.#checkpointAtPages = 0
  }

  /** Runs `work` on a connection that takes pages as they are: for what has checksums of its own. */
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

  /** A commit that changes nothing and reaches the disk: whether the store can be written. */
  probe(): void {
    this.transaction(({ db }) => {
      db.pragma(`user_version = ${db.pragma('user_version', { simple: true })}`)
    })
  }

  /**
   * Copies the log into the database once it has grown. SQLite would do it after a commit without being asked, but
   * tells nobody when it fails. FULL waits for readers and so copies all of the log or nothing of it: of a part SQLite
   * notes that it is in the database without a sync, and a sync that fails later can lose it.
   * After a commit that failed the log is emptied: what is left of it behind the next ones would look acknowledged to
   * the check of the log at a start.
   * Throws what SQLite throws; what is committed stays in the log and is safe there.
   */
  checkpointIfDue(): void {
    const { connection, logSize } = this.#opened ?? {}
    const size = logSize?.get()
    if (connection === undefined || size === undefined) return
    if (size.log >= this.#checkpointAtPages) this.#checkpoint(connection, size)
  }

  /** Pages of the file that hold nothing; 0 when it is not open. Throws what SQLite throws. */
  freePages(): number {
    try {
      return Number(this.#opened?.connection.db.pragma('freelist_count', { simple: true }) ?? 0)
    } catch (error) {
      this.close()
      throw error
    }
  }

  /**
   * Gives up to `pages` free pages back to the file system, which sees it at the next checkpoint; the last are followed
   * by one. Returns how many are still free. Throws what SQLite throws.
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

  /**
   * Empties the log into the database, so that nothing that was overwritten is left in it. False while readers still
   * need it. Throws what SQLite throws.
   */
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

  /** Brings the states of devices up to the end of the telemetry log. Throws what SQLite throws. */
  saveStates(): void {
    try {
      this.transaction(saveStates)
    } catch (error) {
      // the log has checksums of its own
      if (!isWrongSum(storeFaultCode(error))) throw error
      this.withoutChecks(() => this.transaction(saveStates))
    }
  }

  /** Saves the states of devices, empties the log into the database and closes. */
  finish(): void {
    try {
      this.saveStates()
    } catch (error) {
      // the log has them; what is wrong with the disk is said by what follows
      if (storeFaultCode(error) === null) throw error
    }
    this.#requireUnmoved()
    this.#opened ??= open(this.#path, this.#checksPages)
    const { db } = this.#opened.connection
    db.pragma('wal_checkpoint(TRUNCATE)')
    clearOpenMarker(db)
    this.close()
  }

  /** Puts pages right of which reads found one bit wrong; says which. Nothing while it is closed. */
  repairPages(): TableRepair[] {
    const { connection } = this.#opened ?? {}
    return connection === undefined ? [] : repairPages(connection)
  }

  close(): void {
    try {
      this.#opened?.connection.close()
    } catch {
      // it is of no use any more, closed or not
    }
    this.#opened = undefined
  }

  // The test SQLite itself makes with a rollback journal (SQLITE_READONLY_DBMOVED), but not with a log.
  #requireUnmoved(): void {
    let inode: bigint | undefined
    try {
      inode = statSync(this.#path, { bigint: true, throwIfNoEntry: false })?.ino
    } catch {
      // a folder that cannot be looked into says nothing about the file that is open
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
  const inTransaction = transactionOf(connection)
  return {
    connection,
    inTransaction,
    logSize: connection.db.prepare<[], LogSize>('PRAGMA wal_checkpoint(NOOP)'),
  }
}

function transactionOf({ db }: Connection) {
  return db.transaction((work: () => unknown) => work())
}
