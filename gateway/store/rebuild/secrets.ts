import { hashSecret, newApiKey, newMqttPassword } from '#shared/ids.ts'
import type { Connection } from '../db/connection.ts'
import { quoted } from '../db/table-sql.ts'
import { withEarlier } from '../replace/old-database.ts'
import { withTemplate } from '../template.ts'

/** Secret that was newly created because the old one is unknown here. */
export interface NewSecret {
  readonly kind: 'device' | 'user'
  readonly id: string
  readonly name: string | null
  readonly secret: string
}

interface Holder {
  kind: NewSecret['kind']
  id: string
  name: string | null
}

/** New passwords and keys, to hand out before `keepSecrets`. The oldest admin gets its key at the next start. */
export function newSecrets(connection: Connection): NewSecret[] {
  const holders = connection.all<Holder>(
    `SELECT 'device' AS kind, hardware_id AS id, name FROM device
     UNION ALL SELECT 'user', user_id, name FROM user WHERE is_active = 1 AND user_id IS NOT (${OLDEST_ADMIN})
     ORDER BY 1, 2`,
  )
  return holders.map((one) => ({ ...one, secret: one.kind === 'device' ? newMqttPassword() : newApiKey() }))
}

const OLDEST_ADMIN = `SELECT user_id FROM user WHERE role = 'admin' AND is_active = 1 ORDER BY created_at_ms, user_id
  LIMIT 1`

export function keepSecrets(connection: Connection, secrets: readonly NewSecret[]): void {
  for (const { kind, id, secret } of secrets) {
    const hash = hashSecret(secret)
    if (kind === 'device') connection.run('UPDATE device SET mqtt_password_hash = ? WHERE hardware_id = ?', hash, id)
    else connection.run('UPDATE user SET key_hash = ? WHERE user_id = ?', hash, id)
  }
}

/** Tables that are only in a backup, never at the hub. */
const ONLY_HERE = ['webhook', 'notifier', 'secret', 'zone_version', 'removed_device'] as const

/** Replaces possibly altered triggers and views by those of the migrations. Throws on tables not kept as rows. */
export function replaceTriggersAndViews(connection: Connection): void {
  const { db } = connection
  const strange = connection.get<{ name: string }>(
    "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type NOT IN ('table', 'view') ORDER BY name LIMIT 1",
  )
  if (strange !== undefined) throw new Error(`${strange.name} is not a table of a gateway`)
  const parts = `SELECT type, name, sql FROM sqlite_schema WHERE type IN ('trigger', 'view') ORDER BY type DESC, rowid`
  for (const { type, name } of connection.all<{ type: string; name: string }>(parts))
    db.exec(`DROP ${type} IF EXISTS ${quoted(name)}`)
  const own = withTemplate(Number(db.pragma('user_version', { simple: true })), (template) =>
    template.all<{ sql: string }>(parts),
  )
  for (const { sql } of own) db.exec(sql)
}

/**
 * Copies data that the hub is never sent from an older database: passwords and keys of the devices and users that the
 * hub still has, and whole tables. A user disabled since stays disabled. Throws if the database cannot be read.
 */
export function takeSecrets(connection: Connection, path: string): void {
  withEarlier(
    connection,
    path,
    connection.db.transaction(() => {
      connection.run(
        `UPDATE device SET (mqtt_password_hash, is_on_shared_key) = (e.mqtt_password_hash, e.is_on_shared_key)
           FROM earlier.device e WHERE e.hardware_id = device.hardware_id AND e.short_id = device.short_id`,
      )
      connection.run(
        `UPDATE user SET (key_hash, pin_hash, first_used_at_ms) = (e.key_hash, e.pin_hash, e.first_used_at_ms)
           FROM earlier.user e WHERE e.user_id = user.user_id`,
      )
      for (const table of ONLY_HERE) connection.run(`INSERT OR IGNORE INTO ${table} SELECT * FROM earlier.${table}`)
      takePhoto(connection)
    }),
  )
}

/** An older gateway did not send the photo; if the hub has one, it is newer. */
function takePhoto(connection: Connection): void {
  if (connection.get('SELECT 1 FROM course_photo') !== undefined) return
  if (connection.run('INSERT INTO course_photo SELECT * FROM earlier.course_photo') === 0) return
  connection.run(
    `INSERT OR IGNORE INTO course_piece
       SELECT * FROM earlier.course_piece WHERE hash = (SELECT hash FROM course_photo)`,
  )
  // makes the hub receive the change
  connection.run('UPDATE course SET version = version + 1')
}

/** Returns a predicate for the secrets that have an older value, which `takeSecrets` copied. */
export function isKnownBefore(connection: Connection, path: string): (one: NewSecret) => boolean {
  const known = withEarlier(connection, path, () =>
    connection.all<{ kind: string; id: string }>(
      `SELECT 'device' AS kind, d.hardware_id AS id FROM device d JOIN earlier.device e USING (hardware_id, short_id)
       UNION ALL SELECT 'user', u.user_id FROM user u JOIN earlier.user e USING (user_id)`,
    ),
  )
  const keys = new Set(known.map(({ kind, id }) => `${kind} ${id}`))
  return ({ kind, id }) => keys.has(`${kind} ${id}`)
}
