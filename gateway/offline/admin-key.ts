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

/** New key of an admin: the key, or the path of the file that contains it. */
export type ReplacedKey = { name: string; isFirst: boolean } & ({ key: string } | { path: string })

/**
 * Replaces the key of the oldest active admin; the old key is invalid when this resolves. Creates the first admin if no
 * start of the gateway got that far. Unless the caller shows the key (`isShown`), it is written to a file before it
 * becomes valid. Throws an `Error` if the folder is not a gateway's or a gateway is running on it.
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
    else await users.rotateKey(admin.userId, { apiKey, isRevealed: isShown })
    if (isShown) file.remove()
    const replaced = { name: admin?.name ?? FIRST_ADMIN, isFirst: admin === undefined }
    return { ...replaced, ...(isShown ? { key: apiKey } : { path: file.path }) }
  } finally {
    await users.stop()
    await store.stop()
  }
}

/** Throws unless the folder has a database or is empty: any other folder is most likely not the intended one. */
function requireDataFolder(dataDir: string): void {
  if (existsSync(databasePath(dataDir))) return
  const isEmpty = existsSync(dataDir) && readdirSync(dataDir).every((name) => name === DATA_LOCK)
  if (!isEmpty) throw new Error(`${dataDir} has no database of a gateway: set CARTBARN_DATA_DIR`)
}

/**
 * Loads or creates the admin key of a demo, and the file that keeps it, because a demo is started repeatedly. Throws an
 * `Error` for a folder with the data of a gateway that is not a demo.
 */
export function loadDemoKey({ dataDir, adminApiKey }: Config): { file: AdminKeyFile; key: string } {
  const file = new AdminKeyFile(dataDir, DEMO_KEY)
  const known = file.read()
  if (known !== undefined) return { file, key: known }
  if (existsSync(databasePath(dataDir)))
    throw new Error(
      `${dataDir} has the data of a gateway that is not a demo, and would get simulated devices: set ` +
        'CARTBARN_DATA_DIR to another folder',
    )
  prepareDataFolder(dataDir)
  const key = adminApiKey ?? newApiKey()
  file.write(key)
  return { file, key }
}
