import { write } from '../db/audit.ts'
import type { Connection } from '../db/connection.ts'
import { table } from '../db/table.ts'

export const pinTriesTable = table('pin_tries', {
  care: {
    what: 'how often PINs were wrong',
    isRemembered: true,
    meaning: 'People whose row is missing have all their tries again after the next start.',
  },
  json: {
    wrong: { type: 'array', cure: 'delete' },
  },
})

/** How often PINs of a person were wrong on all tablets, when that was written down. */
export interface PinTriesRow {
  userId: string
  /** How long ago each was. */
  wrongAgoMs: readonly number[]
  /** How long the person was still locked. */
  lockedMs: number
}

export function pinTries(connection: Connection): PinTriesRow[] {
  return connection
    .all<{ userId: string; wrongJson: string; lockedMs: number }>(
      'SELECT user_id, wrong AS wrongJson, locked_ms FROM pin_tries ORDER BY user_id',
    )
    .map(({ wrongJson, ...row }) => ({ ...row, wrongAgoMs: JSON.parse(wrongJson) }))
}

/** Nothing that counts is no row. */
export const savePinTries = write(
  (connection: Connection, { userId, wrongAgoMs, lockedMs }: PinTriesRow): null => {
    connection.run('DELETE FROM pin_tries WHERE user_id = ?', userId)
    if (wrongAgoMs.length > 0 || lockedMs > 0)
      connection.run(
        'INSERT INTO pin_tries (user_id, wrong, locked_ms) VALUES (?, ?, ?)',
        userId,
        JSON.stringify(wrongAgoMs),
        lockedMs,
      )
    return null
  },
  {
    // the lock of a person has its own entry
    audit: null,
  },
)
