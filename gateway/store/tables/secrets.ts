import { write } from '../db/audit.ts'
import type { Connection } from '../db/connection.ts'
import { table } from '../db/table.ts'

export const secretTable = table('secret', {
  care: {
    what: 'what the gateway signs with',
    isRemembered: true,
    meaning: 'It is made anew; download links from before are not accepted.',
  },
})

/** Not a secret: says that the key of an admin was given to, or shown to, the person who runs the gateway. */
export const ADMIN_KEY_REVEALED = { name: 'admin_key_told', value: new Uint8Array([1]) }

export function isAdminKeyRevealed(connection: Connection): boolean {
  return connection.get('SELECT 1 FROM secret WHERE name = ?', ADMIN_KEY_REVEALED.name) !== undefined
}

/** Not a secret: names the session that sets the gateway up. */
const SETUP_SESSION = 'setup_session'

/** The session that a setup code opened last; null before the first. It may have ended. */
export function setupSessionId(connection: Connection): string | null {
  const row = connection.get<{ value: Uint8Array }>('SELECT value FROM secret WHERE name = ?', SETUP_SESSION)
  return row === undefined ? null : Buffer.from(row.value).toString()
}

export const keepSetupSession = write(
  (connection: Connection, { sessionId }: { sessionId: string }): null => {
    connection.run('INSERT OR REPLACE INTO secret (name, value) VALUES (?, ?)', SETUP_SESSION, Buffer.from(sessionId))
    return null
  },
  { audit: null },
)

/** The secret of that name; `value` becomes it if there is none yet. */
export const keepSecret = write(
  (connection: Connection, { name, value }: { name: string; value: Uint8Array }): Uint8Array => {
    connection.run('INSERT OR IGNORE INTO secret (name, value) VALUES (?, ?)', name, value)
    const row = connection.get<{ value: Uint8Array }>('SELECT value FROM secret WHERE name = ?', name)
    if (row === undefined) throw new Error(`no secret ${name}`)
    return row.value
  },
  { audit: null },
)
