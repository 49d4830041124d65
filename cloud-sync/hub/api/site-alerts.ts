import { isHubAdmin } from '#hub/access.ts'
import { listSiteAlerts, siteAlertOf } from '#hub/store/site-alerts.ts'
import { ForbiddenError, NotFoundError } from '#shared/errors.ts'
import { paginationOf } from '#shared/http/api-env.ts'
import { isoOrNull, toIso } from '#shared/time.ts'
import { ALERT_KINDS } from '#shared/wire/alert-kinds.ts'
import { type AlertJson, alertIdParams, alertListSchema, alertQuerySchema, alertSchema } from '#shared/wire/alerts.ts'
import type { AlertBody } from '#shared/wire/replication/sync.ts'
import { siteList, siteNoun } from './site-noun.ts'

const KINDS: readonly string[] = ALERT_KINDS

function toAlertJson(body: AlertBody): AlertJson {
  return {
    alert_id: body.alert_id,
    // the query selects only these kinds
    kind: body.kind as AlertJson['kind'],
    cart: body.cart,
    hardware_id: body.hardware_id,
    opened_at: toIso(body.opened_at_ms),
    closed_at: isoOrNull(body.closed_at_ms),
    acknowledged_at: isoOrNull(body.acknowledged_at_ms),
    acknowledged_by: body.acknowledged_by,
    note: body.note,
    details: body.details,
  }
}

export const SITE_ALERTS = siteList({
  path: '/sites/{site}/alerts',
  summary: 'List the alerts of a site',
  description: 'As its gateway has them; pin_locked is for admins.',
  query: alertQuerySchema,
  schema: alertListSchema,
  answer: 'Alerts, newest first by default.',
  read: async ({ from, to, state, kind, cart, ...page }, { sql, site, user }) => {
    const seen = ALERT_KINDS.filter((one) => one !== 'pin_locked' || isHubAdmin(user))
    const kinds = kind === undefined ? seen : seen.filter((one) => one === kind)
    const query = { ...page, state, kinds, cart, fromMs: from, toMs: to }
    const alerts = (await listSiteAlerts(sql, site, query)).map(toAlertJson)
    return { alerts, pagination: paginationOf(page, alerts) }
  },
})

export const SITE_ALERT = siteNoun({
  path: '/sites/{site}/alerts/{id}',
  summary: 'Get an alert of a site',
  params: alertIdParams,
  schema: alertSchema,
  answer: 'The alert.',
  read: async ({ sql, site, user, id }) => {
    const alert = await siteAlertOf(sql, site, id)
    // kinds of a later gateway are not listed either
    if (alert === undefined || !KINDS.includes(alert.kind))
      throw new NotFoundError('alert_not_found', `there is no alert ${id} at this site`)
    if (alert.kind === 'pin_locked' && !isHubAdmin(user))
      throw new ForbiddenError('admin_required', 'alerts of this kind are for admins')
    return toAlertJson(alert)
  },
})
