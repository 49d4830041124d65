import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describeError } from '#shared/errors.ts'

const SQLITE_BUSY = 5

/** Another process has the data folder. */
export class FolderInUseError extends Error {}

/**
 * Keeps a second process off the folder of an embedded database, which two would destroy. An exclusive transaction on an
 * empty file of its own: the system drops it however the process ends.
 */
export class FolderLock {
  readonly #path: string
  #db: DatabaseSync | undefined

  constructor(folder: string) {
    this.#path = join(folder, 'hub.lock')
  }

  /** Throws `FolderInUseError` when another process has it. */
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
      throw new Error(`the data folder cannot be written (${this.#path}): ${describeError(error)}`, {
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
