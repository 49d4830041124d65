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

/** `/alerts`: alerts of carts and of the site. */
export function createAlertsApi({ alerts, store, users }: PeopleDeps & AlertsDeps & RecordsDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()

  /** Returns the person signed in now; a different one may be signed in by the time the change runs. */
  function personOf(c: Context<ApiEnv>) {
    const { userId } = c.var.user.caller
    return { userId, name: users.find(userId)?.row.name ?? '' }
  }

  /** Returns the caller's current rights, read when the change runs. Throws if they no longer are those of staff. */
  function staffNow(c: Context<ApiEnv>): Caller {
    const caller = requireStillIn(c.var.user)
    requireStaff(caller)
    return caller
  }

  api.openapi(
    listRoute('/alerts', 'List alerts', {
      description:
        'Alerts of carts in scope; staff and admins also see those of the site, and admins those of PINs. Kept ' +
        'for 400 days after they are closed.',
      request: { query: alertQuerySchema },
      responses: answers(alertListSchema, 'Alerts, newest first by default.', 400),
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
        'Marks the alert as being handled; the first acknowledgement stays, and gets a later note if it has none. A ' +
        'closed alert may be acknowledged too. The screens of the cart show that its call was seen. For staff and ' +
        'admins.',
      middleware: [staffOnly, jsonBodyOrNone],
      request: { params: alertIdParams, body: bodyOrNone(alertNoteSchema) },
      responses: answers(alertSchema, 'The alert as it is now.', 400, 403, 404, 413, 415),
    }),
    async (c) => {
      const { note, reply } = c.req.valid('json') ?? {}
      const { id } = c.req.valid('param')
      const alert = await alerts.acknowledge(() => staffNow(c), id, personOf(c), note || null, reply || null)
      return c.json(toAlertJson(alert), 200)
    },
  )

  api.openapi(
    route.post('/alerts/{id}/close', 'Close an alert', {
      description:
        'It is not opened again until its condition has ended once; a call is answered on the screens of the cart. ' +
        'For staff and admins.',
      middleware: [staffOnly, jsonBodyOrNone],
      request: { params: alertIdParams, body: bodyOrNone(alertNoteSchema) },
      responses: answers(alertSchema, 'The alert as it is now.', 400, 403, 404, 413, 415),
    }),
    async (c) => {
      const { note, reply } = c.req.valid('json') ?? {}
      const { id } = c.req.valid('param')
      const alert = await alerts.close(() => staffNow(c), id, personOf(c), note || null, reply || null)
      return c.json(toAlertJson(alert), 200)
    },
  )

  return api
}
