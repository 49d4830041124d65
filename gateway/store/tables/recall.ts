import { NotFoundError } from '#shared/errors.ts'
import { event, write } from '../db/audit.ts'
import type { Connection } from '../db/connection.ts'
import { table } from '../db/table.ts'
import { type CommandRow, supersedeMessages } from './commands.ts'

export const recallTable = table('recall', {
  care: {
    what: 'the recall of all carts',
    isRemembered: true,
    meaning: 'Start the recall again if it is still needed.',
  },
  json: {
    scope: { type: 'array', where: 'scope IS NOT NULL', cure: { set: "scope = '[]'" } },
  },
})

export const recallMessageTable = table('recall_message', {
  care: {
    what: 'the recall messages sent to screens',
    isRemembered: true,
    meaning: 'Screens without a row get the message again after the next start.',
  },
})

export const messageTable = table('message', {
  care: {
    what: 'the messages to carts',
    size: 'large',
    meaning: 'Missing messages are not listed; their commands are.',
  },
  json: {
    message: { type: 'object', cure: 'delete' },
    carts: { type: 'array', cure: 'delete' },
  },
  erases: { json: ['message'] },
})

export const readyTextsTable = table('ready_texts', {
  care: {
    what: 'the ready texts for messages',
    meaning: 'They are those of a new gateway until an admin writes them again.',
  },
  json: {
    texts: { type: 'array', cure: 'delete' },
  },
  erases: { json: ['texts'] },
})

/** Recall of all carts, or of those in the scope of the user who started it. */
export interface RecallRow {
  recallId: string
  text: string
  startedAtMs: number
  by: { userId: string; name: string }
  /** Devices of the recall; null for all, including those added later. */
  scope: readonly string[] | null
  /** Null while the recall is active. */
  ended: { atMs: number; text: string } | null
}

/** Command that shows a recall on a screen. */
export interface RecallMessage {
  commandId: string
  hardwareId: string
  /** True for the message that the recall has ended. */
  isEnd: boolean
}

/** Recall with the messages sent to screens, oldest first. */
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

/** Newest recall, active or ended; null before the first. */
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

/** Starts a recall and deletes earlier ones. */
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

/** Ends a recall and fails its messages that were not sent yet. Returns those commands in their new state. */
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

/** Records the commands that show a recall, in their transaction. Throws `no_recall` if it ended or another began. */
export const noteRecallMessages = write(
  (connection: Connection, { recallId, messages }: { recallId: string; messages: readonly RecallMessage[] }): null => {
    const row = connection.get<{ isEnded: number }>(
      'SELECT ended_at_ms IS NOT NULL AS isEnded FROM recall WHERE recall_id = ?',
      recallId,
    )
    for (const { commandId, hardwareId, isEnd } of messages) {
      if (row === undefined || (row.isEnded === 1 && !isEnd))
        throw new NotFoundError('no_recall', 'the recall has ended')
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
