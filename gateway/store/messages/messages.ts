import type { MessageJson } from '#shared/wire/messages/messages.ts'
import { event, write } from '../db/audit.ts'
import type { Connection } from '../db/connection.ts'
import { type ListedTable, type ListPage, listPage } from '../db/list-page.ts'
import { type CommandReach, commandProgress } from '../tables/commands.ts'
import type { ReaderTools } from '../telemetry/reader-tools.ts'

/** Cart that a message was sent to, with the devices that decide who may see it. */
export interface MessagedCart<Screen> {
  cart: string
  devices: readonly string[]
  screens: readonly Screen[]
}

export interface MessageRow<Screen = CommandReach> {
  message: Omit<MessageJson, 'carts'>
  carts: readonly MessagedCart<Screen>[]
}

interface StoredMessage {
  messageJson: string
  cartsJson: string
}

const MESSAGES: ListedTable = {
  table: 'message',
  id: 'message_id',
  place: ['sent_at_ms', 'seq'],
  columns: 'message AS messageJson, carts AS cartsJson',
}

/** Messages by time that have a cart with a visible device. */
export function listMessages(
  { connection }: Pick<ReaderTools, 'connection'>,
  { visibleHardwareIds, ...page }: ListPage,
): MessageRow[] {
  const isVisible = `EXISTS (SELECT 1 FROM json_each(carts) c, json_each(c.value, '$.devices') d
    WHERE d.value IN (SELECT value FROM json_each(?)))`
  const conditions = [[isVisible, visibleHardwareIds && JSON.stringify(visibleHardwareIds)]] as const
  const rows = listPage<StoredMessage>(connection, MESSAGES, conditions, page) ?? []
  return rows.map((row) => toMessage(connection, row))
}

export function findMessage(connection: Connection, messageId: string): MessageRow | undefined {
  const sql = `SELECT ${MESSAGES.columns} FROM message WHERE message_id = ?`
  const row = connection.get<StoredMessage>(sql, messageId)
  return row && toMessage(connection, row)
}

/** Inserts a message, in the transaction of the commands that show it, which are its screens. */
export const insertMessage = write(
  (connection: Connection, { message, carts }: MessageRow<string>): null => {
    connection.run(
      'INSERT INTO message (message_id, sent_at_ms, message, carts) VALUES (?, ?, ?, ?)',
      message.message_id,
      Date.parse(message.sent_at),
      JSON.stringify(message),
      JSON.stringify(carts),
    )
    return null
  },
  {
    audit:
      (_, { message: { message_id, text, text_id, to } }) =>
      () => [event('message.created', message_id, { text, text_id, to })],
  },
)

function toMessage(connection: Connection, { messageJson, cartsJson }: StoredMessage): MessageRow {
  // written by this program only
  const carts = JSON.parse(cartsJson) as MessagedCart<string>[]
  const ids = carts.flatMap(({ screens }) => screens)
  const progressOf = new Map(commandProgress(connection, ids).map((screen) => [screen.commandId, screen]))
  // retention deletes a message before its commands; others of them only go one by one
  const unknown: CommandReach = { commandId: '', hardwareId: '', progress: 'offline' }
  const shown = carts.map((cart) => ({ ...cart, screens: cart.screens.map((id) => progressOf.get(id) ?? unknown) }))
  return { message: JSON.parse(messageJson), carts: shown }
}
