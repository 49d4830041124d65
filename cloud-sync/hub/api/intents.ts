import type { OpenAPIHono } from '@hono/zod-openapi'
import { isHubAdmin, requireSite } from '#hub/access.ts'
import { findIntent, type IntentRow, insertIntent, listIntents, withdrawIntent } from '#hub/store/site-intents.ts'
import { ConflictError, ForbiddenError, NotFoundError } from '#shared/errors.ts'
import { listRoute } from '#shared/http/list-route.ts'
import { jsonBodyUpTo } from '#shared/http/request-guards.ts'
import { answers, body, json, problems } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import { newUuid } from '#shared/ids.ts'
import { isoOrNull, toIso } from '#shared/time.ts'
import {
  INTENT_EXPIRES_S,
  newSiteIntentSchema,
  type SiteIntentJson,
  siteIntentListQuerySchema,
  siteIntentListSchema,
  siteIntentParams,
  siteIntentSchema,
} from '#shared/wire/replication/site-intents.ts'
import { siteParams } from '#shared/wire/sites.ts'
import type { PeopleApiDeps } from './deps.ts'
import { createHubPart, type HubEnv } from './env.ts'
import { operatorOnly } from './guards.ts'

/** A set of a hundred zones fits. */
const intentBody = jsonBodyUpTo(1024 * 1024)

/** `/sites/:site/intents`: changes that the hub requests from the gateway of a site, and their results. */
export function createIntentsApi({ database, clock, onIntent }: PeopleApiDeps): OpenAPIHono<HubEnv> {
  const api = createHubPart()

  /** Throws `intent_not_found`. */
  async function requireIntent(siteId: string, intentId: string): Promise<IntentRow> {
    const row = await findIntent(database, siteId, intentId)
    if (row === undefined) throw new NotFoundError('intent_not_found', `there is no intent ${intentId}`)
    return row
  }

  api.openapi(
    route.post('/sites/{site}/intents', 'Create an intent for a site', {
      description:
        'The gateway of the site fetches the intent within seconds while it is connected, applies it once or not ' +
        'at all, and reports the result. For operators and admins; only an admin may force a lock.',
      middleware: [operatorOnly, intentBody],
      request: { params: siteParams, body: body(newSiteIntentSchema) },
      responses: {
        201: json(siteIntentSchema, 'The intent, which waits for its gateway.'),
        ...problems(400, 403, 404, 413, 415),
      },
    }),
    async (c) => {
      const { site: siteId } = c.req.valid('param')
      const { kind, body: content, expires_in_s, base_rev } = c.req.valid('json')
      const { user } = c.var
      // a gateway executes requests of the hub with the rights of an admin
      if ('force' in content && content.force === true && !isHubAdmin(user))
        throw new ForbiddenError('admin_required', 'only an admin may force a lock')
      await requireSite(database, user, siteId)
      const intentId = newUuid()
      const nowMs = clock.nowMs()
      await insertIntent(database, {
        siteId,
        intentId,
        kind,
        body: JSON.stringify(content),
        requestedBy: user.userId,
        issuedAtMs: nowMs,
        expiresAtMs: nowMs + (expires_in_s ?? INTENT_EXPIRES_S[kind]) * 1000,
        baseRev: base_rev ?? null,
      })
      onIntent(siteId)
      c.header('location', `/sites/${siteId}/intents/${intentId}`)
      return c.json(toIntentJson(await requireIntent(siteId, intentId), nowMs), 201)
    },
  )

  api.openapi(
    listRoute('/sites/{site}/intents', 'List the intents of a site', {
      request: { params: siteParams, query: siteIntentListQuerySchema },
      responses: answers(siteIntentListSchema, 'Intents, newest first by default.', 400, 403, 404),
    }),
    async (c) => {
      const { site } = c.req.valid('param')
      const { order, limit, offset, status, kind } = c.req.valid('query')
      await requireSite(database, c.var.user, site)
      const nowMs = clock.nowMs()
      const rows = await listIntents(database, site, { status, kind, nowMs, order, limit, offset })
      const intents = rows.map((row) => toIntentJson(row, nowMs))
      return c.json({ intents, pagination: { limit, offset, returned: intents.length } }, 200)
    },
  )

  api.openapi(
    route.get('/sites/{site}/intents/{id}', 'Get an intent and its result', {
      request: { params: siteIntentParams },
      responses: answers(siteIntentSchema, 'The intent.', 403, 404),
    }),
    async (c) => {
      const { site, id } = c.req.valid('param')
      await requireSite(database, c.var.user, site)
      return c.json(toIntentJson(await requireIntent(site, id), clock.nowMs()), 200)
    },
  )

  api.openapi(
    route.delete('/sites/{site}/intents/{id}', 'Withdraw an intent', {
      operationId: 'withdrawSiteIntent',
      description:
        'Possible while the intent is pending and no response to its gateway has contained it. After the restore of ' +
        'an older database the gateway may have it nevertheless; then the result that it reports counts. For ' +
        'operators and admins.',
      middleware: [operatorOnly],
      request: { params: siteIntentParams },
      responses: answers(siteIntentSchema, 'The withdrawn intent.', 403, 404, 409),
    }),
    async (c) => {
      const { site, id } = c.req.valid('param')
      await requireSite(database, c.var.user, site)
      const { status } = await requireIntent(site, id)
      const nowMs = clock.nowMs()
      if (status !== 'pending') throw new ConflictError('intent_over', `the intent is ${status}`)
      if (!(await withdrawIntent(database, site, id, nowMs)))
        throw new ConflictError('intent_fetched', 'the intent was sent to the gateway already')
      return c.json(toIntentJson(await requireIntent(site, id), nowMs), 200)
    },
  )

  return api
}

function toIntentJson(row: IntentRow, nowMs: number): SiteIntentJson {
  // the row of an intent that no gateway fetched stays pending after it expires
  const isMissed = row.status === 'pending' && !row.is_fetched && row.expires_at_ms < nowMs
  return {
    intent_id: row.intent_id,
    site_id: row.site_id,
    kind: row.kind,
    body: JSON.parse(row.body),
    base_rev: row.base_rev,
    status: isMissed ? 'expired' : row.status,
    reason: isMissed ? 'the gateway did not fetch the intent before it expired' : row.reason,
    is_fetched: row.is_fetched,
    requested_by: row.requested_by,
    issued_at: toIso(row.issued_at_ms),
    expires_at: toIso(row.expires_at_ms),
    finished_at: isoOrNull(row.finished_at_ms),
  }
}
