import { existsSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { typedCommand } from '#shared/typed-command.ts'
import { finishReplacement, replaceDatabase, syncDatabase } from '#store/damage/repair/replace-database.ts'
import { DataLock } from '#store/db/data-lock.ts'
import { describeFault, storeFaultCode } from '#store/db/fault.ts'
import { requireWholeCopy } from '#store/db/open-mark.ts'
import { createNewSite, type SiteBefore } from '#store/new-site.ts'
import { databasePath } from '#store/store.ts'

const WORK = 'cartbarn-new-site.db'
/** What else of the first course is beside its database: keys, and what its head office was told. */
const OF_THE_FIRST = ['admin-key.txt', 'sync.slots', 'sync.json', 'sync-audit.json', 'new-credentials.csv']

/** What became of the first course; `keptIn` is the folder with all of it. */
export interface NewSite extends SiteBefore {
  keptIn: string
}

/**
 * Makes the gateway of this folder that of another course: what a copied card needs. The database of the first course is
 * kept in a folder beside. Throws an `Error` in words: a gateway is running, or there is no database.
 */
export function beginNewSite(dataDir: string, atMs: number): NewSite {
  const from = databasePath(dataDir)
  if (!existsSync(from))
    throw new Error(`${dataDir} has no database of a gateway: set CARTBARN_DATA_DIR, or use --data`)
  const lock = new DataLock(dataDir)
  lock.take()
  const work = join(dataDir, WORK)
  const removeWork = () => {
    for (const suffix of ['', '-wal', '-shm', '-sums']) rmSync(work + suffix, { force: true })
  }
  try {
    finishReplacement(dataDir)
    requireWholeCopy(from)
    removeWork()
    const before = createNewSite(from, work)
    syncDatabase(work)
    const keptIn = join(dataDir, `first-course-${new Date(atMs).toISOString().replace(/[:.]/g, '-')}`)
    replaceDatabase(dataDir, work, keptIn)
    for (const name of OF_THE_FIRST) {
      if (existsSync(join(dataDir, name))) renameSync(join(dataDir, name), join(keptIn, name))
    }
    return { ...before, keptIn }
  } catch (error) {
    if (storeFaultCode(error) === null) throw error
    throw new Error(
      `the database in ${dataDir} cannot be used: ${describeFault(error)}; nothing was changed. ${typedCommand('repair')} makes a new one of all that can be read`,
      { cause: error },
    )
  } finally {
    removeWork()
    lock.release()
  }
}
