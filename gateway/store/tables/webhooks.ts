import { ConflictError } from '#shared/errors.ts'
import type { AlertKind } from '#shared/wire/alert-kinds.ts'
import type { Connection } from '../db/connection.ts'
import { deleteDeliveriesOf } from './outbox.ts'
import { table } from '../db/table.ts'

export const webhookTable = table('webhook', {
  care: {
    what: 'the webhooks',
    isRemembered: true,
    meaning: 'Webhooks that are missing are told of nothing until an admin makes them anew.',
  },
  json: {
    kinds: { type: 'array', cure: 'null' },
  },
})

/** A program that is told of alerts over HTTP. */
export interface WebhookRow {
  webhookId: string
  url: string
  /** Null for every kind. */
  kinds: AlertKind[] | null
  /** Signs what is sent. */
  secret: string
  createdAtMs: number
  lastSuccessAtMs: number | null
  /** In words; null after a success. */
  lastError: string | null
}

const MOST = 20

/** By the time they were made. */
export function listWebhooks(connection: Connection): WebhookRow[] {
  return connection
    .all<Omit<WebhookRow, 'kinds'> & { kindsJson: string | null }>(
      `SELECT webhook_id AS webhookId, url, kinds AS kindsJson, secret, created_at_ms AS createdAtMs,
         last_success_at_ms AS lastSuccessAtMs, last_error AS lastError
       FROM webhook ORDER BY created_at_ms, webhook_id`,
    )
    .map(({ kindsJson, ...row }) => ({ ...row, kinds: JSON.parse(kindsJson ?? 'null') }))
}

/** Throws `too_many_webhooks`. */
export function createWebhook(connection: Connection, row: WebhookRow): null {
  const { n } = connection.get<{ n: number }>('SELECT count(*) AS n FROM webhook') ?? { n: 0 }
  if (n >= MOST) throw new ConflictError('too_many_webhooks', `there may be ${MOST} webhooks`)
  connection.run(
    'INSERT INTO webhook (webhook_id, url, kinds, secret, created_at_ms) VALUES (?, ?, ?, ?, ?)',
    row.webhookId,
    row.url,
    row.kinds === null ? null : JSON.stringify(row.kinds),
    row.secret,
    row.createdAtMs,
  )
  return null
}

/** What it was still to be told goes with it. */
export function deleteWebhook(connection: Connection, { webhookId }: { webhookId: string }): null {
  connection.run('DELETE FROM webhook WHERE webhook_id = ?', webhookId)
  deleteDeliveriesOf(connection, webhookId)
  return null
}
