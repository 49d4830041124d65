import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describeError } from '#shared/errors.ts'

const SQLITE_BUSY = 5

/** Another process uses the data folder. */
export class FolderInUseError extends Error {}

/**
 * Keeps a second process out of the folder of an embedded database, which two processes would destroy. The lock is an
 * exclusive transaction on an empty SQLite file: the operating system releases it however the process ends.
 */
export class FolderLock {
  readonly #path: string
  #db: DatabaseSync | undefined

  constructor(folder: string) {
    this.#path = join(folder, 'hub.lock')
  }

  /** Throws `FolderInUseError` if another process holds the lock. */
  take(): void {
    let db: DatabaseSync | undefined
    try {
      db = new DatabaseSync(this.#path, { timeout: 0 })
      db.exec('BEGIN EXCLUSIVE')
    } catch (error) {
      db?.close()
      if (error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY) {
        throw new FolderInUseError(`another hub is using the data folder (${this.#path})`, { cause: error })
      }
      throw new Error(`cannot write to the data folder (${this.#path}): ${describeError(error)}`, {
        cause: error,
      })
    }
    this.#db = db
  }

  release(): void {
    this.#db?.close()
    this.#db = undefined
  }
}
