import type { AuditAction } from '#shared/audit-actions.ts'
import { ConflictError, NotFoundError } from '#shared/errors.ts'
import { event, write } from '../db/audit.ts'
import type { Connection } from '../db/connection.ts'
import { table } from '../db/table.ts'

export const sessionTable = table('session', {
  care: {
    what: 'the signed-in browsers',
    isRemembered: true,
    meaning: 'Missing ones must sign in again.',
  },
})

/** Signed-in browser; only the hash of its cookie is stored. */
export interface SessionRow {
  sessionId: string
  userId: string
  name: string
  tokenHash: string
  createdAtMs: number
  lastUsedAtMs: number
}

export interface NewSession {
  row: SessionRow
  /** Sessions ended to make room. */
  endedIds: string[]
}

export interface AuditOnlyEvent {
  action: AuditAction
  target: string
  after: object | null
}

/** Sessions by time of creation. */
export function listSessions(connection: Connection): SessionRow[] {
  return connection.all<SessionRow>(
    `SELECT session_id, user_id, name, token_hash, created_at_ms,
       last_used_at_ms
     FROM session ORDER BY created_at_ms, session_id`,
  )
}

/** Throws `user_not_found` and `user_inactive`: the user may have changed since the credentials were checked. */
export const createSession = write(
  (connection: Connection, { row, endedIds }: NewSession): SessionRow => {
    const { sessionId, userId, name, tokenHash, createdAtMs, lastUsedAtMs } = row
    const user = connection.get<{ isActive: number }>('SELECT is_active FROM user WHERE user_id = ?', userId)
    if (user === undefined) throw new NotFoundError('user_not_found', `there is no user ${userId}`)
    if (user.isActive === 0) throw new ConflictError('user_inactive', 'the user is disabled')
    endSessions(connection, { sessionIds: endedIds })
    connection.run(
      `INSERT INTO session (session_id, user_id, name, token_hash, created_at_ms, last_used_at_ms)
     VALUES (?, ?, ?, ?, ?, ?)`,
      sessionId,
      userId,
      name,
      tokenHash,
      createdAtMs,
      lastUsedAtMs,
    )
    return row
  },
  {
    audit:
      (_, { row: { sessionId, userId, name } }) =>
      () => [event('session.created', sessionId, { user_id: userId, name })],
  },
)

export const endSessions = write(
  (connection: Connection, { sessionIds }: { sessionIds: string[] }): null => {
    for (const sessionId of sessionIds) connection.run('DELETE FROM session WHERE session_id = ?', sessionId)
    return null
  },
  {
    audit: (connection, { sessionIds }) => {
      const ended = new Set(sessionIds)
      const rows = listSessions(connection).filter(({ sessionId }) => ended.has(sessionId))
      return () =>
        rows.map(({ sessionId, userId, name }) => ({
          action: 'session.deleted',
          target: sessionId,
          before: { user_id: userId, name },
          after: null,
        }))
    },
  },
)

/** Ends the sessions of a user whose key becomes invalid, in the same transaction. */
export function endSessionsOf(connection: Connection, userId: string, keptSessionId = ''): void {
  connection.run('DELETE FROM session WHERE user_id = ? AND session_id <> ?', userId, keptSessionId)
}

export const recordSessionUse = write(
  (connection: Connection, uses: { sessionId: string; lastUsedAtMs: number }[]): null => {
    for (const { sessionId, lastUsedAtMs } of uses)
      connection.run('UPDATE session SET last_used_at_ms = ? WHERE session_id = ?', lastUsedAtMs, sessionId)
    return null
  },
  { audit: null },
)

/** Writes only an audit entry; the event has no row. */
export const recordAuditOnly = write(
  (_connection: Connection, _event: AuditOnlyEvent): null => {
    return null
  },
  {
    audit:
      (_, { action, target, after }) =>
      () => [event(action, target, after)],
  },
)
