import { cpSync, existsSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { TLS_FOLDER } from '#shared/authority/authority-folder.ts'
import { createLog } from '#shared/log.ts'
import { typedCommand } from '#shared/typed-command.ts'
import { describeFault, storeFaultCode } from '#store/db/fault.ts'
import { requireWholeCopy } from '#store/db/open-marker.ts'
import { createNewSite, type SiteBefore } from '#store/replace/new-site.ts'
import { keptFolder, replaceDatabase } from '#store/replace/replace-database.ts'
import { Store, type StoreOptions } from '#store/store.ts'
import { requireDatabase, StoppedFolder } from './stopped-folder.ts'

const WORK = 'new-site-unfinished'
/** Files of the first course next to its database: keys, and the states of its backups and its replication. */
const OF_THE_FIRST = [
  'admin-key.txt',
  'backups.json',
  'new-credentials.csv',
  'sync.slots',
  'sync.json',
  'sync-audit.json',
]

/** Result of a new site; `keptIn` is the folder with all data of the first course. */
export interface NewSite extends SiteBefore {
  keptIn: string
  /** True if the authority of the first course is still in place: this one needs its own, with its own key. */
  hasItsAuthority: boolean
}

/**
 * Converts the gateway of this folder into that of a different course, as a copied card needs. The database of the
 * first course is kept in a folder next to the new one. Throws an `Error` with a readable message if a gateway is
 * running or the database is missing.
 */
export function beginNewSite(dataDir: string, atMs: number): NewSite {
  const from = requireDatabase(dataDir)
  const folder = new StoppedFolder(dataDir, WORK)
  folder.take()
  try {
    requireWholeCopy(from)
    folder.makeWork()
    const path = join(folder.work, 'new-site.db')
    const before = createNewSite(from, path)
    const keptIn = keptFolder(dataDir, 'first-course', atMs)
    replaceDatabase(dataDir, path, keptIn)
    for (const name of OF_THE_FIRST) {
      if (existsSync(join(dataDir, name))) renameSync(join(dataDir, name), join(keptIn, name))
    }
    const tls = join(dataDir, TLS_FOLDER)
    const hasItsAuthority = existsSync(tls)
    if (hasItsAuthority) cpSync(tls, join(keptIn, TLS_FOLDER), { recursive: true })
    return { ...before, keptIn, hasItsAuthority }
  } catch (error) {
    if (storeFaultCode(error) === null) throw error
    throw new Error(
      `the database in ${dataDir} cannot be used: ${describeFault(error)}; nothing was changed. ` +
        `${typedCommand('repair')} creates a new one from all readable data`,
      { cause: error },
    )
  } finally {
    folder.release()
  }
}

/**
 * Confirms that the gateway of this folder is the same course on a new machine: the next start adopts the machine that
 * it runs on. Throws an `Error` with a readable message if a gateway is running or the database is missing.
 */
export async function keepCourse(options: StoreOptions): Promise<void> {
  requireDatabase(options.dataDir)
  const store = new Store(options, createLog('silent'))
  try {
    await store.start()
    await store.write('confirmMachine', { signs: null })
  } finally {
    await store.stop()
  }
}
