import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { changeOwner } from '#shared/files/owner.ts'
import { DataLock } from '#store/db/data-lock.ts'
import { databasePath } from '#store/db/files.ts'
import { finishReplacement } from '#store/replace/replace-database.ts'

/** A data folder that no gateway can use while a database is made in it. What root makes in it is its owner's. */
export class StoppedFolder {
  /** A folder for what is unfinished: `makeWork` makes it, `release` deletes it. */
  readonly work: string
  readonly dataDir: string
  readonly #lock: DataLock
  #isTaken = false

  constructor(dataDir: string, work: string) {
    this.work = join(dataDir, work)
    this.dataDir = dataDir
    this.#lock = new DataLock(dataDir)
  }

  /**
   * Locks the folder, finishes a replacement that was killed, and deletes the work of one that was. Throws an `Error`
   * in words when another program has the folder, and what the file system throws.
   */
  take(): void {
    this.#lock.take()
    this.#isTaken = true
    try {
      finishReplacement(this.dataDir)
      this.#removeWork()
    } catch (error) {
      this.release()
      throw error
    }
  }

  makeWork(): void {
    mkdirSync(this.work, { mode: 0o700 })
    // killed, it leaves nothing that the service or the next one cannot remove
    changeOwner(this.dataDir)
  }

  /** Does nothing for a folder that was not taken: another program may work in it. */
  release(): void {
    if (!this.#isTaken) return
    this.#isTaken = false
    this.#removeWork()
    this.#lock.release()
    changeOwner(this.dataDir)
  }

  #removeWork(): void {
    rmSync(this.work, { recursive: true, force: true })
  }
}

/** Path of the database in a data folder. Throws an `Error` in words when there is none. */
export function requireDatabase(dataDir: string): string {
  const path = databasePath(dataDir)
  if (!existsSync(path))
    throw new Error(`${dataDir} has no database of a gateway: set CARTBARN_DATA_DIR, or use --data`)
  return path
}
