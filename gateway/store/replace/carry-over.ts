import { randomBytes } from 'node:crypto'
import type { Connection, Value } from '../db/connection.ts'
import { columnsOf } from '../db/table-sql.ts'

/** Data that a restored database took over from the one it replaces, and tasks for staff; one line each. */
export interface RestoreCarryOver {
  /** True if both belong to one gateway; otherwise revocations are unknown. */
  readonly isSameGateway: boolean
  readonly kept: readonly string[]
  readonly rest: readonly string[]
}

const MOST_LINES = 200

/**
 * Applies revocations since the backup to a restored database, as recorded in the newer database: users that were
 * deleted, locked out or given another key, PIN or role; browsers that were signed out; devices that were removed or
 * given another password. Everything else deleted since comes back, and is listed.
 */
export function applyCarryOver(to: Connection, newer: Connection, backupAtMs: number): RestoreCarryOver {
  if (!isSameGateway(to, newer)) return { isSameGateway: false, kept: [], rest: [] }
  const kept = [...keepUsers(to, newer), ...keepSessions(to, newer), ...keepDevices(to, newer)]
  keepSecrets(to, newer)
  return { isSameGateway: true, kept, rest: shortened(deletedSince(to, newer, backupAtMs)) }
}

/** True if both know the same user: user ids are random, so both belong to one gateway. */
function isSameGateway(to: Connection, newer: Connection): boolean {
  const ids = idsOf(newer, 'user', 'user_id')
  return [...idsOf(to, 'user', 'user_id')].some((id) => ids.has(id))
}

function keepUsers(to: Connection, newer: Connection): string[] {
  const columns = sharedColumns(to, newer, 'user')
  const rows = new Map(
    newer
      .statement<Record<string, Value>>(`SELECT ${columns.join(', ')} FROM user ORDER BY user_id`)
      .all()
      .map((row) => [row.user_id, row]),
  )
  const lines: string[] = []
  for (const user of to.all<{ userId: string; name: string }>(
    'SELECT user_id, name FROM user ORDER BY created_at_ms, user_id',
  )) {
    const row = rows.get(user.userId)
    if (row === undefined) {
      to.run('DELETE FROM user WHERE user_id = ?', user.userId)
      lines.push(`user ${user.name}: was deleted since, and stays deleted`)
      continue
    }
    const before = to
      .statement<Record<string, Value>>(`SELECT ${columns.join(', ')} FROM user WHERE user_id = ?`)
      .get(user.userId)
    const changed = RIGHTS.filter((column) => columns.includes(column) && before?.[column] !== row[column])
    if (changed.length === 0) continue
    const set = changed.map((column) => `${column} = ?`).join(', ')
    const values = changed.map((column) => row[column] ?? null)
    // a key that two users had one after the other
    to.run(
      'UPDATE user SET key_hash = ? WHERE key_hash = ? AND user_id <> ?',
      newSecret(),
      row.key_hash ?? null,
      user.userId,
    )
    to.run(`UPDATE user SET ${set} WHERE user_id = ?`, ...values, user.userId)
    lines.push(`user ${user.name}: ${changed.map((column) => RIGHTS_TEXT[column]).join(', ')} as now`)
  }
  return lines
}

const RIGHTS_TEXT: Record<string, string> = {
  key_hash: 'key',
  pin_hash: 'PIN',
  is_active: 'active or not',
  role: 'role',
  allowed_hardware_ids: 'allowed devices',
  mask_codes: 'codes masked or not',
}
const RIGHTS = Object.keys(RIGHTS_TEXT)

function keepSessions(to: Connection, newer: Connection): string[] {
  const alive = idsOf(newer, 'session', 'session_id')
  const ended = [...idsOf(to, 'session', 'session_id')].filter((id) => !alive.has(id))
  for (const id of ended) to.run('DELETE FROM session WHERE session_id = ?', id)
  return ended.length === 0 ? [] : [`${ended.length} browsers that were signed out since stay signed out`]
}

function keepDevices(to: Connection, newer: Connection): string[] {
  const known = new Map(
    newer
      .all<{ id: string; short: string; hash: string }>(
        'SELECT hardware_id AS id, short_id AS short, mqtt_password_hash AS hash FROM device ORDER BY device_id',
      )
      .map((device) => [device.id, device]),
  )
  const lines: string[] = []
  const devices = to.all<{ id: string; short: string; hash: string }>(
    'SELECT hardware_id AS id, short_id AS short, mqtt_password_hash AS hash FROM device ORDER BY device_id',
  )
  const setHash = (hash: string, id: string) =>
    to.run('UPDATE device SET mqtt_password_hash = ? WHERE hardware_id = ?', hash, id)
  for (const { id, short, hash } of devices) {
    const now = known.get(id)
    // not deleted again, because that would delete history that may exist nowhere else
    if (now === undefined) {
      setHash(newSecret(), id)
      lines.push(
        `device ${id}: was removed since; it is back with its history, and its password is invalid: remove it again`,
      )
    } else if (now.hash !== hash) {
      setHash(now.hash, id)
      lines.push(`device ${id}: password as now${now.short === short ? '' : ' (it was registered again)'}`)
    }
  }
  return lines
}

/** Keeps the keys that sign tokens: a replaced one stays replaced. */
function keepSecrets(to: Connection, newer: Connection): void {
  for (const { name, value } of newer.all<{ name: string; value: Uint8Array }>(
    'SELECT name, value FROM secret ORDER BY name',
  ))
    to.run('INSERT OR REPLACE INTO secret (name, value) VALUES (?, ?)', name, value)
}

/** Audit actions that delete; deletions of users, sessions and devices are applied or listed above. */
const DELETES = /^(?!user|session|device\.).*(delet|purg|eras|revok|remov)/

function deletedSince(to: Connection, newer: Connection, backupAtMs: number): string[] {
  const last = to.get<{ seq: number | null }>('SELECT max(seq) AS seq FROM audit_entry')?.seq ?? 0
  const entries = newer.all<{ atMs: number; action: string; target: string }>(
    'SELECT at_ms, action, target FROM audit_entry WHERE seq > ? ORDER BY seq',
    last,
  )
  const since = new Date(backupAtMs).toISOString()
  const madeOf = (table: string, column: string) => {
    const known = idsOf(to, table, column)
    return [...idsOf(newer, table, column)].filter((id) => !known.has(id)).length
  }
  const made = { users: madeOf('user', 'user_id'), devices: madeOf('device', 'hardware_id') }
  return [
    ...entries
      .filter(({ action }) => DELETES.test(action))
      .map(({ atMs, action, target }) => `${new Date(atMs).toISOString()} ${action} ${target}: do it again`),
    ...(made.users === 0 ? [] : [`${made.users} users who were created since ${since}: create them again`]),
    ...(made.devices === 0 ? [] : [`${made.devices} devices that were registered since ${since}: register them again`]),
  ]
}

function idsOf(connection: Connection, table: string, column: string): Set<string> {
  return new Set(
    connection.all<{ id: string }>(`SELECT ${column} AS id FROM ${table} ORDER BY ${column}`).map(({ id }) => id),
  )
}

function sharedColumns(to: Connection, newer: Connection, table: string): string[] {
  const others = columnsOf(newer, table)
  return columnsOf(to, table).filter((name) => others.includes(name))
}

/** Returns the hash of a random secret that is never shown. */
function newSecret(): string {
  return randomBytes(32).toString('hex')
}

function shortened(lines: readonly string[]): string[] {
  if (lines.length <= MOST_LINES) return [...lines]
  return [...lines.slice(0, MOST_LINES), `and ${lines.length - MOST_LINES} more: see the audit log of the old database`]
}
