import { existsSync } from 'node:fs'
import { Users } from '#services/users.ts'
import { AdminKeyFile } from '#shared/admin-key-file.ts'
import { newApiKey } from '#shared/ids.ts'
import { createLog } from '#shared/log.ts'
import { systemClock } from '#shared/time.ts'
import { DEMO_KEY, databasePath, prepareDataFolder, Store } from '#store/store.ts'
import type { Config } from './config.ts'
import { Events } from './events.ts'

/** The new key of an admin: itself, or the file it is in. */
export type ReplacedKey = { name: string; key: string } | { name: string; path: string }

/**
 * Gives the oldest active admin another key; the old one is dead when this resolves. Unless the key `isShown` to somebody
 * it is put into a file, before it is valid. Throws an `Error` when there is no database, or a gateway is running on it.
 */
export async function replaceAdminKey(config: Config, isShown: boolean): Promise<ReplacedKey> {
  // a start would make an empty one: most likely the folder is not the one that was meant
  if (!existsSync(databasePath(config.dataDir)))
    throw new Error(`${config.dataDir} has no database of a gateway: set CARTBARN_DATA_DIR`)
  const log = createLog('silent')
  const store = new Store(config, log)
  const users = new Users({ store, events: new Events(log), clock: systemClock, log })
  await store.start()
  try {
    await users.start()
    const admin = users.all().find(({ role, isActive }) => role === 'admin' && isActive)
    if (admin === undefined) throw new Error('the database has no active admin')
    const { name, userId } = admin
    const file = new AdminKeyFile(config.dataDir)
    if (isShown) {
      const key = await users.rotateKey(userId, { isTold: true })
      file.remove()
      return { name, key }
    }
    const apiKey = newApiKey()
    file.write(apiKey)
    await users.rotateKey(userId, { apiKey })
    return { name, path: file.path }
  } finally {
    await users.stop()
    await store.stop()
  }
}

/**
 * The key of the admin of a demo, and the file it stays in: a demo is started again and again. Throws an `Error` for
 * a folder with the data of a gateway that is no demo.
 */
export function keepDemoKey({ dataDir, adminApiKey }: Config): { file: AdminKeyFile; key: string } {
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
