import type { OpenAPIHono } from '@hono/zod-openapi'
import type { Context } from 'hono'
import type { Caller } from '#domain/access.ts'
import { toAlertJson } from '#domain/alert.ts'
import { requireStillIn } from '#services/people/login.ts'
import { paginationOf, requireOrder } from '#shared/http/api-env.ts'
import { listRoute } from '#shared/http/list-route.ts'
import { jsonBodyOrNone } from '#shared/http/request-guards.ts'
import { answers, bodyOrNone } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import { alertIdParams, alertListSchema, alertNoteSchema, alertQuerySchema, alertSchema } from '#shared/wire/alerts.ts'
import { type ApiEnv, createApi, listerOf, requireStaff, staffOnly } from './api-env.ts'
import type { AlertsDeps, PeopleDeps, RecordsDeps } from './deps.ts'

/** `/alerts`: what people are warned of. */
export function createAlertsApi({ alerts, store, users }: PeopleDeps & AlertsDeps & RecordsDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()

  /** Who it is that acts now: another may act once it is the turn of what was asked for. */
  function personOf(c: Context<ApiEnv>) {
    const { userId } = c.var.user.caller
    return { userId, name: users.find(userId)?.row.name ?? '' }
  }

  /** What the caller may do when it is its turn. Throws when that is not the right of staff any more. */
  function staffNow(c: Context<ApiEnv>): Caller {
    const caller = requireStillIn(c.var.user)
    requireStaff(caller)
    return caller
  }

  api.openapi(
    listRoute('/alerts', 'List alerts', {
      description:
        'Those of carts in scope; staff and admins also see those of the site, and admins those of PINs. Kept ' +
        'for 400 days after they were closed.',
      request: { query: alertQuerySchema },
      responses: answers(alertListSchema, 'Alerts, newest first unless order says otherwise.', 400),
    }),
    async (c) => {
      const { from, to, state, kind, cart, ...page } = c.req.valid('query')
      requireOrder(from, to)
      const query = { ...page, state, kind, cart, fromMs: from, toMs: to }
      const rows = await store.readers.run(
        'alerts',
        { ...query, ...alerts.scopeOf(c.var.user.caller) },
        listerOf(c, page.offset > 0),
      )
      return c.json({ alerts: rows.map(toAlertJson), pagination: paginationOf(page, rows) }, 200)
    },
  )

  api.openapi(
    route.get('/alerts/{id}', 'Get an alert', {
      request: { params: alertIdParams },
      responses: answers(alertSchema, 'The alert.', 403, 404),
    }),
    (c) => c.json(toAlertJson(alerts.requireVisible(c.var.user.caller, c.req.valid('param').id)), 200),
  )

  api.openapi(
    route.post('/alerts/{id}/acknowledge', 'Acknowledge an alert', {
      description:
        'Says that somebody sees to it; the first acknowledgement stays. One that is closed may be acknowledged, ' +
        'too. For staff and admins.',
      middleware: [staffOnly, jsonBodyOrNone],
      request: { params: alertIdParams, body: bodyOrNone(alertNoteSchema) },
      responses: answers(alertSchema, 'The alert as it is now.', 400, 403, 404, 413, 415),
    }),
    async (c) => {
      const note = c.req.valid('json')?.note || null
      const { id } = c.req.valid('param')
      const alert = await alerts.acknowledge(() => staffNow(c), id, personOf(c), note)
      return c.json(toAlertJson(alert), 200)
    },
  )

  api.openapi(
    route.post('/alerts/{id}/close', 'Close an alert', {
      description: 'It is not opened again before what it tells of was over once. For staff and admins.',
      middleware: [staffOnly, jsonBodyOrNone],
      request: { params: alertIdParams, body: bodyOrNone(alertNoteSchema) },
      responses: answers(alertSchema, 'The alert as it is now.', 400, 403, 404, 413, 415),
    }),
    async (c) => {
      const note = c.req.valid('json')?.note || null
      const { id } = c.req.valid('param')
      const alert = await alerts.close(() => staffNow(c), id, personOf(c), note)
      return c.json(toAlertJson(alert), 200)
    },
  )

  return api
}
