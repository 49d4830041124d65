import { NotFoundError } from '#shared/errors.ts'
import { event, write } from '../db/audit.ts'
import type { Connection } from '../db/connection.ts'
import { table } from '../db/table.ts'
import { type CommandRow, supersedeMessages } from './commands.ts'

export const recallTable = table('recall', {
  care: {
    what: 'whether all carts are called in',
    isRemembered: true,
    meaning: 'Call them in again if they are to come in.',
  },
  json: {
    scope: { type: 'array', where: 'scope IS NOT NULL', cure: { set: "scope = '[]'" } },
  },
})

export const recallMessageTable = table('recall_message', {
  care: {
    what: 'which screens were told that all carts are called in',
    isRemembered: true,
    meaning: 'Screens that are missing are told again after the next start.',
  },
})

/** All carts, or those in somebody's scope, are called in. */
export interface RecallRow {
  recallId: string
  text: string
  startedAtMs: number
  by: { userId: string; name: string }
  /** Devices it is for; null for all, now and later. */
  scope: readonly string[] | null
  /** Null while it is in force. */
  ended: { atMs: number; text: string } | null
}

/** A command that tells a screen of a recall. */
export interface RecallMessage {
  commandId: string
  hardwareId: string
  /** It says that it is over. */
  isEnd: boolean
}

/** Of a recall, what screens were told, oldest first. */
export interface KnownRecall {
  recall: RecallRow
  messages: readonly RecallMessage[]
}

interface StoredRecall {
  recallId: string
  text: string
  startedAtMs: number
  byUserId: string
  byName: string
  scopeJson: string | null
  endedAtMs: number | null
  endText: string | null
}

/** The newest recall, in force or over; null before the first. */
export function lastRecall(connection: Connection): KnownRecall | null {
  const stored = connection.get<StoredRecall>(
    `SELECT recall_id, text, started_at_ms, by_user_id, by_name,
       scope AS scopeJson, ended_at_ms, end_text FROM recall ORDER BY rowid DESC LIMIT 1`,
  )
  if (stored === undefined) return null
  const messages = connection.all<{ commandId: string; hardwareId: string; isEnd: number }>(
    `SELECT command_id, hardware_id, is_end FROM recall_message
     WHERE recall_id = ? ORDER BY rowid`,
    stored.recallId,
  )
  return {
    recall: toRecall(stored),
    messages: messages.map((message) => ({ ...message, isEnd: message.isEnd === 1 })),
  }
}

/** Begins a recall; what is known of those before it goes. */
export const startRecall = write(
  (connection: Connection, recall: RecallRow): null => {
    connection.run('DELETE FROM recall_message')
    connection.run('DELETE FROM recall')
    connection.run(
      `INSERT INTO recall (recall_id, text, started_at_ms, by_user_id, by_name, scope) VALUES (?, ?, ?, ?, ?, ?)`,
      recall.recallId,
      recall.text,
      recall.startedAtMs,
      recall.by.userId,
      recall.by.name,
      recall.scope === null ? null : JSON.stringify(recall.scope),
    )
    return null
  },
  {
    audit:
      (_, { recallId, text, scope }) =>
      () => [event('recall.created', recallId, { text, hardware_ids: scope })],
  },
)

/** Ends it, with what was not sent to screens yet. Returns those commands as they are now. */
export const endRecall = write(
  (
    connection: Connection,
    { recallId, atMs, text }: { recallId: string; atMs: number; text: string },
  ): CommandRow[] => {
    connection.run(
      'UPDATE recall SET ended_at_ms = ?, end_text = ? WHERE recall_id = ? AND ended_at_ms IS NULL',
      atMs,
      text,
      recallId,
    )
    const sql = 'SELECT command_id FROM recall_message WHERE recall_id = ? ORDER BY rowid'
    const messages = connection.all<{ commandId: string }>(sql, recallId)
    return supersedeMessages(
      connection,
      messages.map(({ commandId }) => commandId),
    )
  },
  {
    audit:
      (_, { recallId, text }) =>
      () => [event('recall.deleted', recallId, { text })],
  },
)

/**
 * Notes which commands tell screens of a recall, in the transaction that creates them. Throws `no_recall` when it has
 * ended meanwhile, or another one has begun.
 */
export const noteRecallMessages = write(
  (connection: Connection, { recallId, messages }: { recallId: string; messages: readonly RecallMessage[] }): null => {
    const row = connection.get<{ isEnded: number }>(
      'SELECT ended_at_ms IS NOT NULL AS isEnded FROM recall WHERE recall_id = ?',
      recallId,
    )
    for (const { commandId, hardwareId, isEnd } of messages) {
      if (row === undefined || (row.isEnded === 1 && !isEnd))
        throw new NotFoundError('no_recall', 'the carts are not called in any more')
      connection.run(
        'INSERT INTO recall_message (command_id, recall_id, hardware_id, is_end) VALUES (?, ?, ?, ?)',
        commandId,
        recallId,
        hardwareId,
        Number(isEnd),
      )
    }
    return null
  },
  { audit: null },
)

function toRecall({ byUserId, byName, scopeJson, endedAtMs, endText, ...rest }: StoredRecall): RecallRow {
  return {
    ...rest,
    by: { userId: byUserId, name: byName },
    scope: scopeJson === null ? null : JSON.parse(scopeJson),
    ended: endedAtMs === null ? null : { atMs: endedAtMs, text: endText ?? '' },
  }
}
