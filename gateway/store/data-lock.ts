import { join } from 'node:path'
import Database from 'better-sqlite3'

/**
 * Keeps a second gateway off the data folder: two writers with two memories would tell their clients two truths.
 * An exclusive SQLite transaction on an empty file of its own; the system drops it however the process ends.
 */
export class DataLock {
  readonly #path: string
  #db: Database.Database | undefined

  constructor(dataDir: string) {
    this.#path = join(dataDir, 'cartbarn.lock')
  }

  /** Throws when another process has the folder. */
  take(): void {
    const db = new Database(this.#path, { timeout: 0 })
    try {
      db.exec('BEGIN EXCLUSIVE')
    } catch (error) {
      db.close()
      throw new Error(`another cartbarn is using the data folder (${this.#path})`, { cause: error })
    }
    this.#db = db
  }

  release(): void {
    this.#db?.close()
    this.#db = undefined
  }
}
