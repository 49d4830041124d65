import { join } from 'node:path'
import Database from 'better-sqlite3'
import { describeFault, storeFaultCode } from './fault.ts'

export const DATA_LOCK = 'cartbarn.lock'

/**
 * Keeps a second gateway off the data folder: two writers with separate memory would send contradictory states. It is
 * an exclusive SQLite transaction on an empty file; the system releases it however the process ends.
 */
export class DataLock {
  readonly #path: string
  #db: Database.Database | undefined

  readonly #busy: string

  /** `busy` is the error text when the folder is in use. */
  constructor(dataDir: string, name = DATA_LOCK, busy = 'another cartbarn is using the data folder') {
    this.#path = join(dataDir, name)
    this.#busy = busy
  }

  /** Throws when another process holds the lock. */
  take(): void {
    let db: Database.Database | undefined
    try {
      db = new Database(this.#path, { timeout: 0 })
      db.exec('BEGIN EXCLUSIVE')
    } catch (error) {
      db?.close()
      const problem =
        storeFaultCode(error) === 'SQLITE_BUSY'
          ? `${this.#busy} (${this.#path}); stop it first`
          : `the data folder cannot be written (${this.#path}): ${describeFault(error)}`
      throw new Error(problem, { cause: error })
    }
    this.#db = db
  }

  release(): void {
    this.#db?.close()
    this.#db = undefined
  }
}
