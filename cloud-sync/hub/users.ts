import type { Database } from '#hub/store/database/database.ts'
import { createHubUser, type HubUser, requireHubUser } from '#hub/store/users.ts'
import { hashSecret, newHubKey, newUuid } from '#shared/ids.ts'

/** Fixed id of the first admin, so that only one of several hubs starting on an empty database creates it. */
const FIRST_ADMIN_ID = 'admin'

/** Creates the first admin. False if another hub already has. */
export function createFirstHubAdmin(database: Database, apiKey: string, nowMs: number): Promise<boolean> {
  return createHubUser(database, {
    userId: FIRST_ADMIN_ID,
    name: 'Admin',
    role: 'admin',
    siteIds: null,
    isActive: true,
    masksCodes: false,
    createdAtMs: nowMs,
    keyHash: hashSecret(apiKey),
  })
}

/** Creates a user and its key, which is shown once. */
export async function addHubUser(
  database: Database,
  fields: Pick<HubUser, 'name' | 'role' | 'siteIds' | 'masksCodes'>,
  nowMs: number,
): Promise<{ user: HubUser; apiKey: string }> {
  const apiKey = newHubKey()
  const userId = newUuid()
  await createHubUser(database, {
    ...fields,
    userId,
    isActive: true,
    createdAtMs: nowMs,
    keyHash: hashSecret(apiKey),
  })
  return { user: await requireHubUser(database, userId), apiKey }
}
