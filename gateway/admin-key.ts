import { existsSync } from 'node:fs'
import { Users } from '#services/users.ts'
import { createLog } from '#shared/log.ts'
import { systemClock } from '#shared/time.ts'
import { databasePath, Store } from '#store/store.ts'
import type { Config } from './config.ts'
import { Events } from './events.ts'

/**
 * Gives the oldest active admin another key; the old one is dead when this resolves. Throws an `Error` when there is no
 * database, or a gateway is running on it.
 */
export async function replaceAdminKey(config: Config): Promise<{ name: string; key: string }> {
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
    return { name: admin.name, key: await users.rotateKey(admin.userId) }
  } finally {
    await users.stop()
    await store.stop()
  }
}
