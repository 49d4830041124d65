import type { OpenAPIHono } from '@hono/zod-openapi'
import { isHubAdmin, requireSite } from '#hub/access.ts'
import type { Sql } from '#hub/store/database/database.ts'
import { listSiteAlerts, siteAlertOf } from '#hub/store/site-alerts.ts'
import { ForbiddenError, NotFoundError } from '#shared/errors.ts'
import { paginationOf, requireOrder } from '#shared/http/api-env.ts'
import { listRoute } from '#shared/http/list-route.ts'
import { answers } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import { isoOrNull, toIso } from '#shared/time.ts'
import { ALERT_KINDS } from '#shared/wire/alert-kinds.ts'
import {
  type AlertJson,
  alertIdParams,
  alertListSchema,
  alertQuerySchema,
  alertSchema,
} from '#shared/wire/alerts.ts'
import type { AlertBody } from '#shared/wire/replication/sync.ts'
import { siteParams } from '#shared/wire/sites.ts'
import { createHubPart, type HubEnv } from './env.ts'

const KINDS: readonly string[] = ALERT_KINDS

function toAlertJson(body: AlertBody): AlertJson {
  return {
    alert_id: body.alert_id,
    // only such kinds are asked for
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

/** `/sites/:site/alerts`: what people of a site are warned of. */
export function createSiteAlertsApi(sql: Sql): OpenAPIHono<HubEnv> {
  const api = createHubPart()
  api.openapi(
    listRoute('/sites/{site}/alerts', 'List the alerts of a site', {
      description: 'As its gateway has them; pin_locked is for admins.',
      request: { params: siteParams, query: alertQuerySchema },
      responses: answers(alertListSchema, 'Alerts, newest first unless order says otherwise.', 400, 403, 404),
    }),
    async (c) => {
      const { site } = c.req.valid('param')
      const { from, to, state, kind, cart, ...page } = c.req.valid('query')
      requireOrder(from, to)
      await requireSite(sql, c.var.user, site)
      const seen = ALERT_KINDS.filter((one) => one !== 'pin_locked' || isHubAdmin(c.var.user))
      const kinds = kind === undefined ? seen : seen.filter((one) => one === kind)
      const query = { ...page, state, kinds, cart, fromMs: from, toMs: to }
      const alerts = (await listSiteAlerts(sql, site, query)).map(toAlertJson)
      return c.json({ alerts, pagination: paginationOf(page, alerts) }, 200)
    },
  )

  api.openapi(
    route.get('/sites/{site}/alerts/{id}', 'Get an alert of a site', {
      request: { params: siteParams.extend(alertIdParams.shape) },
      responses: answers(alertSchema, 'The alert.', 403, 404),
    }),
    async (c) => {
      const { site, id } = c.req.valid('param')
      await requireSite(sql, c.var.user, site)
      const alert = await siteAlertOf(sql, site, id)
      // kinds of a later gateway are not listed either
      if (alert === undefined || !KINDS.includes(alert.kind))
        throw new NotFoundError('alert_not_found', `there is no alert ${id} at this site`)
      if (alert.kind === 'pin_locked' && !isHubAdmin(c.var.user))
        throw new ForbiddenError('admin_required', 'alerts of this kind are for admins')
      return c.json(toAlertJson(alert), 200)
    },
  )
  return api
}
