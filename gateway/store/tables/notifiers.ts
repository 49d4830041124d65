import { ConflictError } from '#shared/errors.ts'
import type { AlertKind } from '#shared/wire/alert-kinds.ts'
import type { NotifierChannel } from '#shared/wire/notifiers.ts'
import { type AuditRecord, differences, event, originOf, write } from '../db/audit.ts'
import type { Connection } from '../db/connection.ts'
import { table } from '../db/table.ts'
import { deleteDeliveriesOf } from './outbox.ts'

export const notifierTable = table('notifier', {
  care: {
    what: 'the notifiers',
    isRemembered: true,
    meaning: 'Missing notifiers send nothing until an admin creates them again.',
  },
  json: {
    kinds: { type: 'array', cure: 'null' },
    hours: { type: 'array', cure: 'null' },
  },
})

/** Recipient of notifications about alerts. */
export interface NotifierRow {
  notifierId: string
  channel: NotifierChannel
  /** An e-mail address, the URL of a topic, or a chat. */
  recipient: string
  /** Credential of the gateway at the channel. */
  token: string | null
  /** Null for every kind. */
  kinds: AlertKind[] | null
  /** Notifies only of alerts opened between these minutes of the day, possibly past midnight; null for all. */
  hours: [fromMinute: number, toMinute: number] | null
  /** Notifies only of alerts not acknowledged within this time; null for all. */
  afterUnacknowledgedMin: number | null
  createdAtMs: number
  lastSuccessAtMs: number | null
  /** Error text; null after a success. */
  lastError: string | null
}

type StoredNotifier = Omit<NotifierRow, 'kinds' | 'hours'> & {
  kindsJson: string | null
  hoursJson: string | null
}

const MOST = 20

/** Notifiers by time of creation. */
export function listNotifiers(connection: Connection): NotifierRow[] {
  return connection
    .all<StoredNotifier>(
      `SELECT notifier_id, channel, recipient, token, kinds AS kindsJson, hours AS hoursJson,
         after_unacknowledged_min, created_at_ms,
         last_success_at_ms, last_error
       FROM notifier ORDER BY created_at_ms, notifier_id`,
    )
    .map(({ kindsJson, hoursJson, ...row }) => ({
      ...row,
      kinds: JSON.parse(kindsJson ?? 'null'),
      hours: JSON.parse(hoursJson ?? 'null'),
    }))
}

/** Throws `too_many_notifiers`. */
export const createNotifier = write(
  (connection: Connection, row: NotifierRow): null => {
    const { n } = connection.get<{ n: number }>('SELECT count(*) AS n FROM notifier') ?? { n: 0 }
    if (n >= MOST) throw new ConflictError('too_many_notifiers', `there are ${MOST} notifiers: delete one first`)
    connection.run(
      `INSERT INTO notifier (channel, recipient, token, kinds, hours, after_unacknowledged_min, notifier_id,
       created_at_ms)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
      ...changeable(row),
      row.notifierId,
      row.createdAtMs,
    )
    return null
  },
  { audit: (_, row) => () => [event('notifier.created', row.notifierId, notifierEntry(row))] },
)

/** Writes the fields that an admin may change. */
export const updateNotifier = write(
  (connection: Connection, row: NotifierRow): null => {
    connection.run(
      `UPDATE notifier SET channel = ?, recipient = ?, token = ?, kinds = ?, hours = ?, after_unacknowledged_min = ?
     WHERE notifier_id = ?`,
      ...changeable(row),
      row.notifierId,
    )
    return null
  },
  {
    audit: (connection, row) => {
      const { notifierId } = row
      const before = listNotifiers(connection).find((known) => known.notifierId === notifierId)
      return () => {
        if (before === undefined) return []
        const [old, now] = differences(notifierEntry(before), notifierEntry(row))
        const updated: AuditRecord[] =
          now === null ? [] : [{ action: 'notifier.updated', target: notifierId, before: old, after: now }]
        return [...updated, ...(before.token === row.token ? [] : [event('notifier.token_replaced', notifierId, null)])]
      }
    },
  },
)

/** Deletes its pending deliveries too. */
export const deleteNotifier = write(
  (connection: Connection, { notifierId }: { notifierId: string }): null => {
    connection.run('DELETE FROM notifier WHERE notifier_id = ?', notifierId)
    deleteDeliveriesOf(connection, notifierId)
    return null
  },
  {
    audit: (connection, { notifierId }) => {
      const before = listNotifiers(connection).find((row) => row.notifierId === notifierId)
      return () =>
        before === undefined
          ? []
          : [{ action: 'notifier.deleted', target: notifierId, before: notifierEntry(before), after: null }]
    },
  },
)

function changeable({ channel, recipient, token, kinds, hours, afterUnacknowledgedMin }: NotifierRow) {
  const json = (value: object | null) => (value === null ? null : JSON.stringify(value))
  return [channel, recipient, token, json(kinds), json(hours), afterUnacknowledgedMin]
}

function notifierEntry({
  channel,
  recipient,
  kinds,
  hours,
  afterUnacknowledgedMin,
}: NotifierRow): Record<string, unknown> {
  const to = channel === 'ntfy' ? originOf(recipient) : recipient
  return { channel, to, kinds, hours, after_unacknowledged_min: afterUnacknowledgedMin }
}
