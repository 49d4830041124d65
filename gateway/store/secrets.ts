import type { Connection } from './db/connection.ts'

/** Not a secret: says that the key of an admin was given to, or shown to, the person who runs the gateway. */
export const ADMIN_KEY_TOLD = { name: 'admin_key_told', value: new Uint8Array([1]) }

export function isAdminKeyTold(connection: Connection): boolean {
  return connection.get('SELECT 1 FROM secret WHERE name = ?', ADMIN_KEY_TOLD.name) !== undefined
}

/** The secret of that name; `value` becomes it if there is none yet. */
export function keepSecret(
  connection: Connection,
  { name, value }: { name: string; value: Uint8Array },
): Uint8Array {
  connection.run('INSERT OR IGNORE INTO secret (name, value) VALUES (?, ?)', name, value)
  const row = connection.get<{ value: Uint8Array }>('SELECT value FROM secret WHERE name = ?', name)
  if (row === undefined) throw new Error(`no secret ${name}`)
  return row.value
}
