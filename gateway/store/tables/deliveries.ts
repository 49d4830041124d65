import { type Alert, toAlertJson } from '#domain/alert.ts'
import { NotFoundError } from '#shared/errors.ts'
import { isBetweenHours } from '#shared/site/daily-hours.ts'
import type { SiteSettings } from '#shared/site/settings.ts'
import { TimeZone } from '#shared/site/time-zone.ts'
import { MINUTE_MS, toIso } from '#shared/time.ts'
import type { AlertKind } from '#shared/wire/alert-kinds.ts'
import type { AlertEvent } from '#shared/wire/alerts.ts'
import type { NotifierChannel } from '#shared/wire/notifiers.ts'
import { toSiteForScreensJson } from '#shared/wire/site-json.ts'
import type { WebhookBody } from '#shared/wire/webhooks.ts'
import { event, write } from '../db/audit.ts'
import type { Connection } from '../db/connection.ts'
import { listNotifiers, type NotifierRow } from './notifiers.ts'
import { forgetDeliveries, insertDeliveries, insertTest } from './outbox.ts'
import { siteSettings } from './site.ts'
import { listWebhooks, type WebhookRow } from './webhooks.ts'

/** A notification lists all alerts that open within this time after the first one. */
export const BATCH_WINDOW_MS = 30_000

/** Delay in ms between the opening of an alert and its notification. */
export function noticeAfterMs({ afterUnacknowledgedMin }: Pick<NotifierRow, 'afterUnacknowledgedMin'>): number {
  return Math.max(BATCH_WINDOW_MS, (afterUnacknowledgedMin ?? 0) * MINUTE_MS)
}

/** Recipients of alerts, and the settings of the site; the same for a whole transaction. */
export interface Recipients {
  webhooks: readonly WebhookRow[]
  notifiers: readonly NotifierRow[]
  settings: SiteSettings
  zone: TimeZone
}

export function recipientsOf(connection: Connection): Recipients {
  const settings = siteSettings(connection)
  return {
    webhooks: listWebhooks(connection),
    notifiers: listNotifiers(connection),
    settings,
    zone: new TimeZone(settings.timeZone),
  }
}

/**
 * Queues an alert event's deliveries in the transaction that opens, acknowledges or closes it, so that none is lost.
 * Webhooks get every event, notifiers openings and escalations; an acknowledgement cancels those waiting for one.
 */
export function queueDeliveries(
  connection: Connection,
  recipients: Recipients,
  { event, alert }: { event: AlertEvent; alert: Alert },
  nowMs: number,
): void {
  queueForWebhooks(connection, recipients, { event, alert }, nowMs)
  if (event === 'opened') queueForNotifiers(connection, recipients, alert, nowMs)
  else if (event === 'escalated') escalateToNotifiers(connection, recipients, alert, nowMs)
  else if (event !== 'repeated') forgetUnsent(connection, recipients, alert.alertId, nowMs)
}

function queueForWebhooks(
  connection: Connection,
  recipients: Recipients,
  { event, alert }: { event: AlertEvent; alert: Alert },
  nowMs: number,
): void {
  const webhooks = recipients.webhooks.filter(({ kinds }) => isWanted(kinds, alert.kind))
  if (webhooks.length === 0) return
  const { alertId } = alert
  const body = webhookBody(recipients.settings, { event, alert: toAlertJson(alert) }, nowMs)
  const targetIds = webhooks.map(({ webhookId }) => webhookId)
  insertDeliveries(connection, targetIds, { alertId, body, nowMs })
}

function queueForNotifiers(connection: Connection, recipients: Recipients, alert: Alert, nowMs: number): void {
  const { alertId, kind, openedAtMs } = alert
  const isRecipient = ({ kinds, hours }: NotifierRow) =>
    isWanted(kinds, kind) && (hours === null || isBetweenHours(recipients.zone, hours, openedAtMs))
  const notifiers = recipients.notifiers.filter(isRecipient)
  if (notifiers.length === 0) return
  const body = JSON.stringify(toAlertJson(alert))
  const targetIds = notifiers.map(({ notifierId }) => notifierId)
  insertDeliveries(connection, targetIds, { alertId, body, nowMs })
}

/** Notifies all recipients of the kind at any hour and without their delay, instead of what they still wait for. */
function escalateToNotifiers(connection: Connection, recipients: Recipients, alert: Alert, nowMs: number): void {
  const { alertId, kind } = alert
  const notifiers = recipients.notifiers.filter(({ kinds }) => isWanted(kinds, kind))
  const targetIds = new Set(notifiers.map(({ notifierId }) => notifierId))
  forgetDeliveries(connection, alertId, (targetId) => targetIds.has(targetId))
  const body = JSON.stringify(toAlertJson(alert))
  for (const notifier of notifiers)
    insertDeliveries(connection, [notifier.notifierId], { alertId, body, nowMs: nowMs - noticeAfterMs(notifier) })
}

/** Keeps deliveries that are due already: the alert was not acknowledged in time. */
function forgetUnsent(connection: Connection, { notifiers }: Recipients, alertId: string, nowMs: number): void {
  const patient = notifiers.filter((notifier) => notifier.afterUnacknowledgedMin !== null)
  if (patient.length === 0) return
  const dueAfterMs = new Map(patient.map((notifier) => [notifier.notifierId, nowMs - noticeAfterMs(notifier)]))
  forgetDeliveries(
    connection,
    alertId,
    (targetId, queuedAtMs) => queuedAtMs > (dueAfterMs.get(targetId) ?? Number.POSITIVE_INFINITY),
  )
}

export interface QueuedTest {
  deliveryId: string
  targetId: string
  channel: 'webhook' | NotifierChannel
  nowMs: number
}

/** Queues a test message. Throws `webhook_not_found` or `notifier_not_found`. */
export const queueTest = write(
  (connection: Connection, { deliveryId, targetId, channel, nowMs }: QueuedTest): null => {
    requireTarget(connection, targetId, channel === 'webhook' ? 'webhook' : 'notifier')
    const body = webhookBody(siteSettings(connection), { event: 'test', alert: null }, nowMs)
    insertTest(connection, { deliveryId, targetId, body, nowMs })
    return null
  },
  {
    audit:
      (_, { channel, targetId }) =>
      () => [event(channel === 'webhook' ? 'webhook.tested' : 'notifier.tested', targetId, null)],
  },
)

/** The target may have been deleted since the request was checked. */
function requireTarget(connection: Connection, targetId: string, table: 'webhook' | 'notifier'): void {
  const row = connection.get(`SELECT 1 FROM ${table} WHERE ${table}_id = ?`, targetId)
  if (row === undefined) throw new NotFoundError(`${table}_not_found`, `there is no ${table} ${targetId}`)
}

function webhookBody(
  settings: SiteSettings,
  { event, alert }: Pick<WebhookBody, 'event' | 'alert'>,
  nowMs: number,
): string {
  const site = toSiteForScreensJson(settings)
  return JSON.stringify({ event, alert, site, sent_at: toIso(nowMs) } satisfies WebhookBody)
}

function isWanted(kinds: readonly AlertKind[] | null, kind: AlertKind): boolean {
  return kinds === null || kinds.includes(kind)
}
