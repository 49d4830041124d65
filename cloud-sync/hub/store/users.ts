import { ConflictError, NotFoundError } from '#shared/errors.ts'
import type { HubRole } from '#shared/wire/hub-users.ts'
import type { Database, Sql } from './database/database.ts'

export interface HubUser {
  readonly userId: string
  readonly name: string
  readonly role: HubRole
  /** Null means every site; irrelevant for an admin. */
  readonly siteIds: readonly string[] | null
  readonly isActive: boolean
  /** Stored value; see `canSeeCodes`. */
  readonly masksCodes: boolean
  readonly createdAtMs: number
}

export interface NewHubUser extends HubUser {
  readonly keyHash: string
}

interface HubUserRow {
  user_id: string
  name: string
  role: string
  site_ids: string | null
  is_active: boolean
  mask_codes: boolean
  created_at_ms: number
}

const COLUMNS = 'user_id, name, role, site_ids, is_active, mask_codes, created_at_ms'

function toUser(row: HubUserRow): HubUser {
  return {
    userId: row.user_id,
    name: row.name,
    // only values that `NewHubUser` and `HubUserChange` allow are ever written
    role: row.role as HubRole,
    siteIds: row.site_ids === null ? null : JSON.parse(row.site_ids),
    isActive: row.is_active,
    masksCodes: row.mask_codes,
    createdAtMs: row.created_at_ms,
  }
}

/** Lists users by time of creation, then by id. */
export async function listHubUsers(sql: Sql): Promise<HubUser[]> {
  const rows = await sql.all<HubUserRow>(`SELECT ${COLUMNS} FROM hub_user ORDER BY created_at_ms, user_id`)
  return rows.map(toUser)
}

/** Throws `user_not_found`. */
export async function requireHubUser(sql: Sql, userId: string): Promise<HubUser> {
  const row = await sql.get<HubUserRow>(`SELECT ${COLUMNS} FROM hub_user WHERE user_id = $1`, [userId])
  if (row === undefined) throw new NotFoundError('user_not_found', `there is no user ${userId}`)
  return toUser(row)
}

export async function hubUserByKey(sql: Sql, keyHash: string): Promise<HubUser | undefined> {
  const row = await sql.get<HubUserRow>(`SELECT ${COLUMNS} FROM hub_user WHERE key_hash = $1`, [keyHash])
  return row === undefined ? undefined : toUser(row)
}

/** Returns false if a user with this id or this key exists. */
export async function createHubUser(sql: Sql, user: NewHubUser): Promise<boolean> {
  const { userId, name, role, siteIds, isActive, masksCodes, createdAtMs, keyHash } = user
  const created = await sql.run(
    `INSERT INTO hub_user (user_id, name, role, key_hash, site_ids, is_active, mask_codes, created_at_ms)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING`,
    [userId, name, role, keyHash, siteIds === null ? null : JSON.stringify(siteIds), isActive, masksCodes, createdAtMs],
  )
  return created > 0
}

export async function hasHubAdmin(sql: Sql): Promise<boolean> {
  return (await sql.get(`SELECT user_id FROM hub_user WHERE role = 'admin' AND is_active LIMIT 1`)) !== undefined
}

type Changeable = Pick<NewHubUser, 'name' | 'role' | 'siteIds' | 'isActive' | 'masksCodes' | 'keyHash'>

/** Undefined fields keep their values. */
export type HubUserChange = { readonly [Field in keyof Changeable]?: Changeable[Field] | undefined }

/** Throws `user_not_found`, and `last_admin` if the hub would have no active admin left. */
export function changeHubUser(database: Database, userId: string, change: HubUserChange): Promise<HubUser> {
  return database.transaction(async (sql) => {
    await lockAdmins(sql)
    const user = await requireHubUser(sql, userId)
    const { name = user.name, role = user.role } = change
    const { isActive = user.isActive, masksCodes = user.masksCodes } = change
    const siteIds = change.siteIds === undefined ? user.siteIds : change.siteIds
    await sql.run(
      `UPDATE hub_user SET name = $2, role = $3, site_ids = $4, is_active = $5, mask_codes = $6
        WHERE user_id = $1`,
      [userId, name, role, siteIds === null ? null : JSON.stringify(siteIds), isActive, masksCodes],
    )
    if (change.keyHash !== undefined)
      await sql.run('UPDATE hub_user SET key_hash = $2 WHERE user_id = $1', [userId, change.keyHash])
    await requireAdminLeft(sql)
    return requireHubUser(sql, userId)
  })
}

/** Throws like `changeHubUser`. */
export function deleteHubUser(database: Database, userId: string): Promise<void> {
  return database.transaction(async (sql) => {
    await lockAdmins(sql)
    await requireHubUser(sql, userId)
    await sql.run('DELETE FROM hub_user WHERE user_id = $1', [userId])
    await requireAdminLeft(sql)
  })
}

/** Without the lock, two concurrent changes could each count on the other's admin. */
async function lockAdmins(sql: Sql): Promise<void> {
  await sql.all(`SELECT user_id FROM hub_user WHERE role = 'admin' ORDER BY user_id FOR UPDATE`)
}

async function requireAdminLeft(sql: Sql): Promise<void> {
  if (!(await hasHubAdmin(sql))) throw new ConflictError('last_admin', 'the hub must keep at least one active admin')
}
