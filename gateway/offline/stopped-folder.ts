import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { changeOwner } from '#shared/files/owner.ts'
import { DataLock } from '#store/db/data-lock.ts'
import { databasePath } from '#store/db/files.ts'
import { finishReplacement } from '#store/replace/replace-database.ts'

/** Data folder locked against gateways while a database is created. Root's files get the ownership of the folder. */
export class StoppedFolder {
  /** Folder for unfinished files: `makeWork` creates it, `release` deletes it. */
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
   * Locks the folder, finishes a replacement that was killed, and deletes the work folder of a killed run. Throws an
   * `Error` with a readable message if another program has the folder; errors of the file system are passed on.
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
    // after a kill the service or the next call must be able to remove all files
    changeOwner(this.dataDir)
  }

  /** Does nothing for a folder that was not locked: another program may work in it. */
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

/** Returns the path of the database in a data folder. Throws an `Error` with a readable message if it is missing. */
export function requireDatabase(dataDir: string): string {
  const path = databasePath(dataDir)
  if (!existsSync(path))
    throw new Error(`${dataDir} has no database of a gateway: set CARTBARN_DATA_DIR, or use --data`)
  return path
}
