import type { Connection } from './db/connection.ts'

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
