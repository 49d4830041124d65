import { existsSync, readdirSync } from 'node:fs'
import type { Config } from '#gateway/config.ts'
import { Events } from '#gateway/events.ts'
import { groupedCode, newCode } from '#services/people/codes.ts'
import { FIRST_ADMIN, Users } from '#services/users.ts'
import { AdminKeyFile } from '#shared/admin-key-file.ts'
import { newApiKey } from '#shared/ids.ts'
import { createLog } from '#shared/log.ts'
import { systemClock } from '#shared/time.ts'
import { DATA_LOCK } from '#store/db/data-lock.ts'
import { databasePath } from '#store/db/files.ts'
import { DEMO_KEY, prepareDataFolder, Store } from '#store/store.ts'

/** The new key of an admin: itself, or the file it is in. */
export type ReplacedKey = { name: string; isFirst: boolean } & ({ key: string } | { path: string })

/**
 * Gives the oldest active admin another key; the old one is dead when this resolves. Of a gateway that was never
 * started, or whose first start did not get so far, it makes the first admin. Unless the key `isShown` to somebody it
 * is put into a file, before it is valid. Throws an `Error` when the folder is not a gateway's, or a gateway is running
 * on it.
 */
export async function replaceAdminKey(config: Config, isShown: boolean): Promise<ReplacedKey> {
  requireDataFolder(config.dataDir)
  const log = createLog('silent')
  const store = new Store(config, log)
  const users = new Users({ store, events: new Events(log), clock: systemClock, log })
  await store.start()
  try {
    await users.start()
    const admins = users.all().filter(({ role }) => role === 'admin')
    const admin = admins.find(({ isActive }) => isActive)
    if (admin === undefined && admins.length > 0) throw new Error('the database has no active admin')
    const apiKey = newApiKey()
    const file = new AdminKeyFile(config.dataDir)
    if (!isShown) file.write(apiKey, admin === undefined ? groupedCode(newCode()) : undefined)
    if (admin === undefined) await users.createFirstAdmin(apiKey, isShown)
    else await users.rotateKey(admin.userId, { apiKey, isTold: isShown })
    if (isShown) file.remove()
    const replaced = { name: admin?.name ?? FIRST_ADMIN, isFirst: admin === undefined }
    return { ...replaced, ...(isShown ? { key: apiKey } : { path: file.path }) }
  } finally {
    await users.stop()
    await store.stop()
  }
}

/** A database is made only in a folder that is there and empty: any other is most likely not the one that was meant. */
function requireDataFolder(dataDir: string): void {
  if (existsSync(databasePath(dataDir))) return
  const isEmpty = existsSync(dataDir) && readdirSync(dataDir).every((name) => name === DATA_LOCK)
  if (!isEmpty) throw new Error(`${dataDir} has no database of a gateway: set CARTBARN_DATA_DIR`)
}

/**
 * The key of the admin of a demo, and the file it stays in: a demo is started again and again. Throws an `Error` for
 * a folder with the data of a gateway that is no demo.
 */
export function loadDemoKey({ dataDir, adminApiKey }: Config): { file: AdminKeyFile; key: string } {
  const file = new AdminKeyFile(dataDir, DEMO_KEY)
  const known = file.read()
  if (known !== undefined) return { file, key: known }
  if (existsSync(databasePath(dataDir)))
    throw new Error(
      `${dataDir} has the data of a gateway that is no demo, and would get simulated devices: set CARTBARN_DATA_DIR to another folder`,
    )
  prepareDataFolder(dataDir)
  const key = adminApiKey ?? newApiKey()
  file.write(key)
  return { file, key }
}
