import type { Alert } from '#domain/alert.ts'
import type { SessionChange } from '#domain/mqtt-sessions.ts'
import type { AlertKind } from '#shared/wire/alert-kinds.ts'
import type { AlertEvent, AlertState } from '#shared/wire/alerts.ts'
import type { ListOrder } from '#shared/wire/schema/params.ts'
import { callActed, deleteOldCalls } from '../calls/cart-calls.ts'
import { differences, write } from '../db/audit.ts'
import { asFields, type Connection } from '../db/connection.ts'
import { bodyOfKey, names, table } from '../db/table.ts'
import { syncCursors } from '../ledger/cursors.ts'
import { isSentEntity } from '../ledger/sent-entities.ts'
import type { ReaderTools } from '../telemetry/reader-tools.ts'
import { queueDeliveries, type Recipients, recipientsOf } from './deliveries.ts'
import { applySessionChange } from './mqtt-sessions.ts'

export const closedDayTable = table('closed_day', {
  care: {
    what: 'the last day whose closing time was notified',
    meaning: 'A notification about a closing time within the last hour may be sent again.',
  },
})

export const alertTable = table('alert', {
  care: {
    what: 'the alerts',
    size: 'large',
    meaning: 'Missing alerts are not listed; those whose condition continues are opened again.',
  },
  json: {
    details: { type: 'object', cure: { set: "details = '{}'" } },
    acknowledged_by: { type: 'object', where: 'acknowledged_by IS NOT NULL', cure: 'null' },
  },
  replicated: {
    columns: names(`alert_id, kind, cart, hardware_id, opened_at_ms, closed_at_ms, acknowledged_at_ms,
      acknowledged_by, note, details`),
    times: ['opened_at_ms', 'closed_at_ms', 'acknowledged_at_ms'],
    key: 't.alert_id',
    where: 't.alert_id = ?',
  },
  erases: { json: ['acknowledged_by', 'details'], texts: ['note'] },
})

/** Alert with the fields that only the gateway needs. */
export interface StoredAlert extends Alert {
  /** The zone_id, hardware_id or user_id of the alert's object, if the kind has several; otherwise empty. */
  subject: string
  /** Staff closed the alert while its condition lasted: none of its kind opens until the condition has ended. */
  awaitsEnd: boolean
  /** Position of its end, if that decides whether the next one is a new alert; 1e-7 degree. */
  endedAt: { latE7: number; longE7: number } | null
}

export interface AlertChange {
  event: AlertEvent
  alert: StoredAlert
  /** MQTT messages that announce the event. */
  sessionChanges: readonly SessionChange[]
  /** Null for events of the gateway itself. */
  byUserId: string | null
  /** Stored call that caused it. */
  callSeq?: number | undefined
}

/** Local day whose closing time passed last, and that time. */
export interface ClosedDay {
  date: string
  closesAtMs: number
}

export interface AlertsChange {
  changes: readonly AlertChange[]
  /** Alerts that staff had closed and whose condition has ended now. */
  endedIds: readonly string[]
  /** Stored calls without effect, such as a cancel of an alert that is closed. */
  idleCallSeqs: readonly number[]
  /** MQTT messages that belong to no event. */
  sessionChanges: readonly SessionChange[]
  /** Null if no day has closed. */
  closedDay: ClosedDay | null
  nowMs: number
}

export interface SavedAlert {
  event: AlertEvent
  alert: StoredAlert
  /** False if the event was stored before. */
  isNew: boolean
}

export interface AlertQuery {
  state?: AlertState | undefined
  kind?: AlertKind | undefined
  cart?: string | undefined
  fromMs?: number | undefined
  toMs?: number | undefined
  order: ListOrder
  limit: number
  offset: number
  /** Alerts of carts that the caller may see, by their keys and by their devices; undefined for all. */
  visible?: { carts: readonly string[]; hardwareIds: readonly string[] } | undefined
  /** Kinds of site alerts that the caller may see. */
  siteKinds: readonly string[]
}

interface AlertRow {
  alertId: string
  kind: AlertKind
  cart: string | null
  hardwareId: string | null
  subject: string
  openedAtMs: number
  closedAtMs: number | null
  acknowledgedAtMs: number | null
  acknowledgedByJson: string | null
  note: string | null
  detailsJson: string
  awaitsEnd: number
  latE7: number | null
  longE7: number | null
}

const COLUMNS = `alert_id, kind, cart, hardware_id, subject, opened_at_ms,
  closed_at_ms, acknowledged_at_ms, acknowledged_by AS acknowledgedByJson, note,
  details AS detailsJson, awaits_end, lat_e7, long_e7`

/** Writes events with their MQTT messages and deliveries, all or nothing. Stored events are skipped on a retry. */
export const saveAlerts = write(
  (connection: Connection, input: AlertsChange): SavedAlert[] => {
    const { changes, endedIds, idleCallSeqs, sessionChanges, closedDay, nowMs } = input
    const recipients = changes.length === 0 ? null : recipientsOf(connection)
    const saved = recipients === null ? [] : changes.map((change) => saveAlert(connection, change, recipients, nowMs))
    for (const seq of idleCallSeqs) callActed(connection, seq, null)
    for (const alertId of endedIds) connection.run('UPDATE alert SET awaits_end = 0 WHERE alert_id = ?', alertId)
    for (const sessionChange of sessionChanges) applySessionChange(connection, sessionChange)
    if (closedDay !== null)
      connection.run(
        'INSERT OR REPLACE INTO closed_day (only, date, closes_at_ms) VALUES (1, ?, ?)',
        closedDay.date,
        closedDay.closesAtMs,
      )
    return saved
  },
  {
    // acts of staff only; what the gateway opens and closes automatically is in the list of alerts
    audit: (connection, { changes }) => {
      const before = new Map(
        changes.flatMap(({ byUserId, alert: { alertId } }) =>
          byUserId === null ? [] : [[alertId, auditedBody(connection, alertId)] as const],
        ),
      )
      return (saved) =>
        saved.flatMap(({ event, alert: { alertId }, isNew }) => {
          const was = before.get(alertId)
          const isByStaff = event === 'acknowledged' || event === 'closed'
          if (was === undefined || !isNew || !isByStaff) return []
          const [old, now] = differences(was, auditedBody(connection, alertId))
          return [{ action: `alert.${event}`, target: alertId, before: old, after: now }]
        })
    },
  },
)

/** Row for the audit log, which must not keep the words of a golfer. */
function auditedBody(connection: Connection, alertId: string) {
  const body = bodyOfKey(connection, alertTable, alertId)
  const { details } = findAlert(connection, alertId) ?? {}
  return typeof details?.text === 'string' ? { ...body, details: { ...details, text: '(changed)' } } : body
}

function saveAlert(
  connection: Connection,
  { event, alert, sessionChanges, callSeq }: AlertChange,
  recipients: Recipients,
  nowMs: number,
): SavedAlert {
  const known = event === 'opened' ? duplicateOf(connection, alert) : findAlert(connection, alert.alertId)
  if (callSeq !== undefined) callActed(connection, callSeq, known?.alertId ?? alert.alertId)
  const isSo = known === undefined ? event !== 'opened' : isApplied(event, known, alert)
  if (isSo) return { event, alert: known ?? alert, isNew: false }
  if (event === 'opened') insertAlert(connection, alert)
  else updateAlert(connection, alert)
  for (const sessionChange of sessionChanges) applySessionChange(connection, sessionChange)
  // receivers know of an acknowledgement whose note follows
  const isKnown = event === 'acknowledged' && known?.acknowledgedAtMs != null
  if (!isKnown) queueDeliveries(connection, recipients, { event, alert }, nowMs)
  return { event, alert, isNew: true }
}

/** True if the stored alert has the change; an acknowledgement may add a note or a reply later. */
function isApplied(event: AlertEvent, known: StoredAlert, alert: StoredAlert): boolean {
  const { count, reply, escalated_at } = known.details
  if (event === 'acknowledged' && known.acknowledgedAtMs !== null)
    return (known.note !== null || alert.note === null) && reply === alert.details.reply
  if (event === 'repeated') return Number(count) >= Number(alert.details.count)
  if (event === 'escalated') return escalated_at !== null
  return event === 'opened' || (event === 'closed' && known.closedAtMs !== null)
}

/** Returns the stored alert of this id, or an open one with the same kind, cart and subject. */
function duplicateOf(connection: Connection, { alertId, kind, cart, subject }: StoredAlert): StoredAlert | undefined {
  const row = connection.get<AlertRow>(
    `SELECT ${COLUMNS} FROM alert
     WHERE kind = ? AND ifnull(cart, '') = ? AND subject = ? AND closed_at_ms IS NULL`,
    kind,
    cart ?? '',
    subject,
  )
  return row === undefined ? findAlert(connection, alertId) : toStored(row)
}

function insertAlert(connection: Connection, alert: StoredAlert): void {
  connection.run(
    `INSERT INTO alert (alert_id, kind, cart, hardware_id, subject, opened_at_ms, details)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
    alert.alertId,
    alert.kind,
    alert.cart,
    alert.hardwareId,
    alert.subject,
    alert.openedAtMs,
    JSON.stringify(alert.details),
  )
}

function updateAlert(connection: Connection, alert: StoredAlert): void {
  const by = alert.acknowledgedBy
  connection.run(
    `UPDATE alert SET closed_at_ms = ?, acknowledged_at_ms = ?, acknowledged_by = ?, note = ?, details = ?,
       awaits_end = ?, lat_e7 = ?, long_e7 = ?
     WHERE alert_id = ?`,
    alert.closedAtMs,
    alert.acknowledgedAtMs,
    by === null ? null : JSON.stringify({ user_id: by.userId, name: by.name }),
    alert.note,
    JSON.stringify(alert.details),
    Number(alert.awaitsEnd),
    alert.endedAt?.latE7 ?? null,
    alert.endedAt?.longE7 ?? null,
    alert.alertId,
  )
}

/** Returns undefined if no alert has this id. */
export function findAlert(connection: Connection, alertId: string): StoredAlert | undefined {
  const row = connection.get<AlertRow>(`SELECT ${COLUMNS} FROM alert WHERE alert_id = ?`, alertId)
  return row && toStored(row)
}

/** Alerts for later evaluations: open, closed by staff before their end, or since `closedSinceMs`; oldest first. */
export function listLiveAlerts(connection: Connection, closedSinceMs: number): StoredAlert[] {
  return connection
    .all<AlertRow>(
      `SELECT ${COLUMNS} FROM alert WHERE seq IN (
         SELECT seq FROM alert WHERE closed_at_ms IS NULL
         UNION SELECT seq FROM alert WHERE awaits_end = 1
         UNION SELECT seq FROM alert WHERE closed_at_ms >= ?)
       ORDER BY seq`,
      closedSinceMs,
    )
    .map(toStored)
}

/** Retained messages about alerts, which the broker sends to new subscribers. */
export function listAlertMessages(connection: Connection): { topic: string; payload: Uint8Array | string }[] {
  return connection.all("SELECT topic, payload FROM mqtt_retained WHERE topic GLOB 'alert/*' ORDER BY topic")
}

/** Undefined before the first closing. */
export function closedDay(connection: Connection): ClosedDay | undefined {
  return connection.get<ClosedDay>('SELECT date, closes_at_ms FROM closed_day')
}

const IN_STATE: Record<AlertState, string> = {
  open: 'closed_at_ms IS NULL AND acknowledged_at_ms IS NULL',
  acknowledged: 'closed_at_ms IS NULL AND acknowledged_at_ms IS NOT NULL',
  closed: 'closed_at_ms IS NOT NULL',
}

/** Newest first. */
export function listAlerts({ connection }: Pick<ReaderTools, 'connection'>, query: AlertQuery): Alert[] {
  const { state, kind, cart, fromMs, toMs, visible, siteKinds, order, limit, offset } = query
  const ofCart =
    visible === undefined
      ? 'cart IS NOT NULL'
      : 'hardware_id IN (SELECT value FROM json_each(?)) OR cart IN (SELECT value FROM json_each(?))'
  const conditions: [sql: string, ...values: (string | number)[]][] = [
    [
      `(cart IS NULL AND kind IN (SELECT value FROM json_each(?))) OR ${ofCart}`,
      JSON.stringify(siteKinds),
      ...(visible === undefined ? [] : [JSON.stringify(visible.hardwareIds), JSON.stringify(visible.carts)]),
    ],
    ...(state === undefined ? [] : [[IN_STATE[state]] satisfies [string]]),
    ...(kind === undefined ? [] : [['kind = ?', kind] satisfies [string, string]]),
    ...(cart === undefined ? [] : [['cart = ?', cart] satisfies [string, string]]),
    ...(fromMs === undefined ? [] : [['opened_at_ms >= ?', fromMs] satisfies [string, number]]),
    ...(toMs === undefined ? [] : [['opened_at_ms <= ?', toMs] satisfies [string, number]]),
  ]
  return connection
    .all<AlertRow>(
      `SELECT ${asFields(COLUMNS)} FROM alert WHERE ${conditions.map(([sql]) => `(${sql})`).join(' AND ')}
       ORDER BY opened_at_ms ${order}, seq ${order} LIMIT ? OFFSET ?`,
      ...conditions.flatMap(([, ...values]) => values),
      limit,
      offset,
    )
    .map(toStored)
}

/** Rows deleted in one step, which takes some milliseconds. */
const STEP_ROWS = 500

/**
 * Deletes old calls, and some alerts closed before `beforeMs`, with `keepsUnsent` only those that the hub has; returns
 * the number of alerts.
 */
export const deleteAlertsStep = write(
  (connection: Connection, { beforeMs, keepsUnsent }: { beforeMs: number; keepsUnsent: boolean }): number => {
    deleteOldCalls(connection, beforeMs)
    const isSent = keepsUnsent ? `AND ${isSentEntity('alert', 'alert_id')}` : ''
    return connection.run(
      `DELETE FROM alert WHERE seq IN
       (SELECT seq FROM alert WHERE closed_at_ms < ? AND awaits_end = 0 ${isSent} ORDER BY closed_at_ms, seq LIMIT ?)`,
      beforeMs,
      ...(keepsUnsent ? [syncCursors(connection).entities.seq] : []),
      STEP_ROWS,
    )
  },
  { audit: null },
)

function toStored(row: AlertRow): StoredAlert {
  const { acknowledgedByJson, detailsJson, awaitsEnd, latE7, longE7, ...alert } = row
  // written by this program only
  const by: { user_id: string; name: string } | null = JSON.parse(acknowledgedByJson ?? 'null')
  return {
    ...alert,
    acknowledgedBy: by === null ? null : { userId: by.user_id, name: by.name },
    details: JSON.parse(detailsJson),
    awaitsEnd: awaitsEnd === 1,
    endedAt: latE7 === null || longE7 === null ? null : { latE7, longE7 },
  }
}
