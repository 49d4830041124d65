import { write } from '../db/audit.ts'
import type { Connection } from '../db/connection.ts'
import { table } from '../db/table.ts'

export const secretTable = table('secret', {
  care: {
    what: 'the signing keys of the gateway',
    isRemembered: true,
    meaning: 'They are created again; earlier download links are rejected.',
  },
})

/** Marker, not a secret: the key of an admin was shown or given to the operator of the gateway. */
export const ADMIN_KEY_REVEALED = { name: 'admin_key_told', value: new Uint8Array([1]) }

export function isAdminKeyRevealed(connection: Connection): boolean {
  return connection.get('SELECT 1 FROM secret WHERE name = ?', ADMIN_KEY_REVEALED.name) !== undefined
}

/** Marker, not a secret: id of the session that sets up the gateway. */
const SETUP_SESSION = 'setup_session'

/** Session that a setup code opened last; null before the first. It may have ended. */
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

/** Returns the secret of that name, and stores `value` first if none exists. */
export const keepSecret = write(
  (connection: Connection, { name, value }: { name: string; value: Uint8Array }): Uint8Array => {
    connection.run('INSERT OR IGNORE INTO secret (name, value) VALUES (?, ?)', name, value)
    const row = connection.get<{ value: Uint8Array }>('SELECT value FROM secret WHERE name = ?', name)
    if (row === undefined) throw new Error(`no secret ${name}`)
    return row.value
  },
  { audit: null },
)
