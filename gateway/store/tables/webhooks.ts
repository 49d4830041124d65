import { ConflictError } from '#shared/errors.ts'
import type { AlertKind } from '#shared/wire/alert-kinds.ts'
import { event, originOf, write } from '../db/audit.ts'
import type { Connection } from '../db/connection.ts'
import { table } from '../db/table.ts'
import { deleteDeliveriesOf } from './outbox.ts'

export const webhookTable = table('webhook', {
  care: {
    what: 'the webhooks',
    isRemembered: true,
    meaning: 'Missing webhooks receive nothing until an admin creates them again.',
  },
  json: {
    kinds: { type: 'array', cure: 'null' },
  },
})

/** Program that receives alerts over HTTP. */
export interface WebhookRow {
  webhookId: string
  url: string
  /** Null for every kind. */
  kinds: AlertKind[] | null
  /** Key that signs the requests. */
  secret: string
  createdAtMs: number
  lastSuccessAtMs: number | null
  /** Error text; null after a success. */
  lastError: string | null
}

const MOST = 20

/** Webhooks by time of creation. */
export function listWebhooks(connection: Connection): WebhookRow[] {
  return connection
    .all<Omit<WebhookRow, 'kinds'> & { kindsJson: string | null }>(
      `SELECT webhook_id, url, kinds AS kindsJson, secret, created_at_ms,
         last_success_at_ms, last_error
       FROM webhook ORDER BY created_at_ms, webhook_id`,
    )
    .map(({ kindsJson, ...row }) => ({ ...row, kinds: JSON.parse(kindsJson ?? 'null') }))
}

/** Throws `too_many_webhooks`. */
export const createWebhook = write(
  (connection: Connection, row: WebhookRow): null => {
    const { n } = connection.get<{ n: number }>('SELECT count(*) AS n FROM webhook') ?? { n: 0 }
    if (n >= MOST) throw new ConflictError('too_many_webhooks', `there are ${MOST} webhooks: delete one first`)
    connection.run(
      'INSERT INTO webhook (webhook_id, url, kinds, secret, created_at_ms) VALUES (?, ?, ?, ?, ?)',
      row.webhookId,
      row.url,
      row.kinds === null ? null : JSON.stringify(row.kinds),
      row.secret,
      row.createdAtMs,
    )
    return null
  },
  { audit: (_, row) => () => [event('webhook.created', row.webhookId, webhookEntry(row))] },
)

/** Deletes its pending deliveries too. */
export const deleteWebhook = write(
  (connection: Connection, { webhookId }: { webhookId: string }): null => {
    connection.run('DELETE FROM webhook WHERE webhook_id = ?', webhookId)
    deleteDeliveriesOf(connection, webhookId)
    return null
  },
  {
    audit: (connection, { webhookId }) => {
      const before = listWebhooks(connection).find((row) => row.webhookId === webhookId)
      return () =>
        before === undefined
          ? []
          : [{ action: 'webhook.deleted', target: webhookId, before: webhookEntry(before), after: null }]
    },
  },
)

function webhookEntry({ url, kinds }: WebhookRow): Record<string, unknown> {
  return { url: originOf(url), kinds }
}
