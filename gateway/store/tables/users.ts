import { ConflictError, NotFoundError } from '#shared/errors.ts'
import type { Role, UserRole } from '#shared/wire/users.ts'
import { changed, withSecret, write } from '../db/audit.ts'
import type { Connection } from '../db/connection.ts'
import { names, table } from '../db/table.ts'
import { endSessionsOf } from './sessions.ts'

export const userTable = table('user', {
  care: {
    what: 'the users and their API keys',
    isRemembered: true,
    meaning: 'Missing users cannot sign in until an admin creates them again.',
  },
  json: {
    allowed_hardware_ids: { type: 'array', cure: { set: "allowed_hardware_ids = '[]'" } },
  },
  replicated: {
    columns: names('user_id, name, email, role, is_active, allowed_hardware_ids, mask_codes, created_at_ms'),
    flags: ['is_active', 'mask_codes'],
    key: 't.user_id',
    where: 't.user_id = ?',
  },
})

export interface UserRow {
  userId: string
  name: string
  email: string | null
  role: UserRole
  isActive: boolean
  allowedHardwareIds: string[] | null
  /** Masks the codes of lock events with asterisks, except for admins. */
  masksCodes: boolean
  keyHash: string
  /** Null without a PIN. */
  pinHash: string | null
  createdAtMs: number
  updatedAtMs: number
  usage: Usage
}

export interface Usage {
  totalRequests: number
  /** Number of requests on the UTC day of `lastResetMs`. */
  requestsToday: number
  lastResetMs: number
  firstUsedAtMs: number | null
  lastUsedAtMs: number | null
}

type StoredUser = Omit<UserRow, 'role' | 'isActive' | 'allowedHardwareIds' | 'masksCodes' | 'usage'> &
  Usage & { role: Role; isActive: number; allowedJson: string | null; masksCodes: number }

/**
 * Stored form of the role `metrics`. Version 1.0.0 treats an unknown role as staff, so the column has `user`, with a
 * scope that matches no device and cannot be requested, because its id is longer than 64 characters.
 */
const METRICS_SCOPE = JSON.stringify(['this user reads GET /metrics and nothing else: no device has this id'])

const USER_COLUMNS = `user_id, name, email, role, is_active, allowed_hardware_ids AS allowedJson,
  mask_codes AS masksCodes, key_hash, pin_hash, created_at_ms, updated_at_ms, total_requests,
  requests_today, last_reset_ms, first_used_at_ms,
  last_used_at_ms`

export function listUsers(connection: Connection): UserRow[] {
  return connection.all<StoredUser>(`SELECT ${USER_COLUMNS} FROM user ORDER BY created_at_ms, user_id`).map(toUserRow)
}

function toUserRow(stored: StoredUser): UserRow {
  const {
    role,
    isActive,
    allowedJson,
    masksCodes,
    totalRequests,
    requestsToday,
    lastResetMs,
    firstUsedAtMs,
    lastUsedAtMs,
    ...rest
  } = stored
  const isForMetrics = allowedJson === METRICS_SCOPE
  return {
    ...rest,
    role: isForMetrics ? 'metrics' : role,
    isActive: isActive === 1,
    allowedHardwareIds: allowedJson === null || isForMetrics ? null : JSON.parse(allowedJson),
    masksCodes: masksCodes === 1,
    usage: { totalRequests, requestsToday, lastResetMs, firstUsedAtMs, lastUsedAtMs },
  }
}

function findUser(connection: Connection, userId: string): UserRow {
  const stored = connection.get<StoredUser>(`SELECT ${USER_COLUMNS} FROM user WHERE user_id = ?`, userId)
  if (stored === undefined) throw new NotFoundError('user_not_found', `there is no user ${userId}`)
  return toUserRow(stored)
}

export interface NewUser {
  userId: string
  name: string
  email: string | null
  role: UserRole
  allowedHardwareIds: string[] | null
  masksCodes?: boolean | undefined
  keyHash: string
  nowMs: number
}

export const createUser = write(
  (connection: Connection, input: NewUser): UserRow => {
    connection.run(
      `INSERT INTO user (user_id, name, email, role, allowed_hardware_ids, is_active, mask_codes, key_hash,
        created_at_ms, updated_at_ms,
       last_reset_ms)
     VALUES (?, ?, ?, ?, ?, 1, ?, ?, ?, ?, ?)`,
      input.userId,
      input.name,
      input.email,
      ...toStoredRights(input.role, input.allowedHardwareIds),
      Number(input.masksCodes ?? false),
      input.keyHash,
      input.nowMs,
      input.nowMs,
      input.nowMs,
    )
    return findUser(connection, input.userId)
  },
  { audit: changed(userTable, ({ userId }) => userId) },
)

/** Creates the first admin; returns null if there is an admin already. */
export const createFirstAdmin = write(
  (connection: Connection, input: NewUser): UserRow | null => {
    const hasAdmin = connection.get("SELECT 1 FROM user WHERE role = 'admin' LIMIT 1") !== undefined
    return hasAdmin ? null : createUser(connection, input)
  },
  { audit: changed(userTable, ({ userId }) => userId) },
)

export interface UserChange {
  userId: string
  name?: string | undefined
  email?: string | null | undefined
  role?: UserRole | undefined
  isActive?: boolean | undefined
  allowedHardwareIds?: string[] | null | undefined
  masksCodes?: boolean | undefined
  keyHash?: string | undefined
  pinHash?: string | null | undefined
  /** Session that is kept although the key becomes invalid. */
  keptSessionId?: string | undefined
  nowMs: number
}

/** Changes the given fields; a revoked key ends the user's sessions. Throws `last_admin` if no active admin is left. */
export const updateUser = write(
  (connection: Connection, change: UserChange): UserRow => {
    const known = findUser(connection, change.userId)
    const { userId, nowMs, keptSessionId, ...fields } = change
    if (Object.values(fields).every((value) => value === undefined)) return known
    const role = fields.role ?? known.role
    const pinHash = fields.pinHash === undefined ? known.pinHash : fields.pinHash
    connection.run(
      `UPDATE user SET name = ?, email = ?, role = ?, allowed_hardware_ids = ?, is_active = ?, mask_codes = ?,
        key_hash = ?,
       pin_hash = ?, updated_at_ms = ?
     WHERE user_id = ?`,
      fields.name ?? known.name,
      fields.email === undefined ? known.email : fields.email,
      ...toStoredRights(
        role,
        fields.allowedHardwareIds === undefined ? known.allowedHardwareIds : fields.allowedHardwareIds,
      ),
      Number(fields.isActive ?? known.isActive),
      Number(fields.masksCodes ?? known.masksCodes),
      fields.keyHash ?? known.keyHash,
      role === 'metrics' ? null : pinHash,
      nowMs,
      userId,
    )
    requireActiveAdmin(connection)
    if (fields.keyHash !== undefined || fields.isActive === false || fields.role === 'metrics')
      endSessionsOf(connection, userId, keptSessionId)
    return findUser(connection, userId)
  },
  {
    audit: withSecret(
      (input) => (input.pinHash === null ? 'pin.deleted' : 'pin.updated'),
      withSecret(
        () => 'key.rotated',
        changed(userTable, ({ userId }) => userId),
        (input) => (input.keyHash === undefined ? null : input.userId),
      ),
      (input) => (input.pinHash === undefined ? null : input.userId),
    ),
  },
)

export const deleteUser = write(
  (connection: Connection, input: { userId: string }): UserRow => {
    const known = findUser(connection, input.userId)
    connection.run('DELETE FROM user WHERE user_id = ?', input.userId)
    endSessionsOf(connection, input.userId)
    requireActiveAdmin(connection)
    return known
  },
  { audit: changed(userTable, ({ userId }) => userId) },
)

// Checked after the change, in its transaction: two admins who remove each other at the same time cannot both succeed.
function requireActiveAdmin(connection: Connection): void {
  if (connection.get("SELECT 1 FROM user WHERE role = 'admin' AND is_active = 1 LIMIT 1") === undefined) {
    throw new ConflictError('last_admin', 'this would leave no active admin')
  }
}

export interface UsageUpdate extends Usage {
  userId: string
}

export const recordUsage = write(
  (connection: Connection, updates: UsageUpdate[]): null => {
    for (const usage of updates) {
      connection.run(
        `UPDATE user SET total_requests = ?, requests_today = ?, last_reset_ms = ?, first_used_at_ms = ?,
          last_used_at_ms = ?
       WHERE user_id = ?`,
        usage.totalRequests,
        usage.requestsToday,
        usage.lastResetMs,
        usage.firstUsedAtMs,
        usage.lastUsedAtMs,
        usage.userId,
      )
    }
    return null
  },
  { audit: null },
)

function toStoredRights(role: UserRole, ids: string[] | null): [Role, string | null] {
  if (role === 'metrics') return ['user', METRICS_SCOPE]
  return [role, ids === null ? null : JSON.stringify(ids)]
}
