import { write } from '../db/audit.ts'
import type { Connection } from '../db/connection.ts'
import { table } from '../db/table.ts'

export const pinTriesTable = table('pin_tries', {
  care: {
    what: 'the wrong PIN entries',
    isRemembered: true,
    meaning: 'People without a row have all their attempts again after the next start.',
  },
  json: {
    wrong: { type: 'array', cure: 'delete' },
  },
})

/** Wrong PIN entries of a person on all tablets, at the time of saving. */
export interface PinTriesRow {
  userId: string
  /** Age of each wrong entry at that time, in ms. */
  wrongAgoMs: readonly number[]
  /** Remaining time for which the person is locked, in ms. */
  lockedMs: number
}

export function pinTries(connection: Connection): PinTriesRow[] {
  return connection
    .all<{ userId: string; wrongJson: string; lockedMs: number }>(
      'SELECT user_id, wrong AS wrongJson, locked_ms FROM pin_tries ORDER BY user_id',
    )
    .map(({ wrongJson, ...row }) => ({ ...row, wrongAgoMs: JSON.parse(wrongJson) }))
}

/** Replaces the row of a person; deletes it if nothing counts: neither a wrong entry nor a lock. */
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
    // locking a person has an entry of its own
    audit: null,
  },
)
