import type { OpenAPIHono } from '@hono/zod-openapi'
import { requireSite } from '#hub/access.ts'
import { listAuditEntries } from '#hub/store/audit-log.ts'
import type { Sql } from '#hub/store/database/database.ts'
import { paginationOf, requireOrder } from '#shared/http/api-env.ts'
import { listRoute } from '#shared/http/list-route.ts'
import { answers } from '#shared/http/responses.ts'
import { toIso } from '#shared/time.ts'
import { type AuditEntryJson, auditLogQuerySchema, auditLogSchema } from '#shared/wire/audit-log.ts'
import type { AuditEntryBody } from '#shared/wire/replication/sync.ts'
import { siteParams } from '#shared/wire/sites.ts'
import { createHubPart, type HubEnv } from './env.ts'
import { adminOnly } from './guards.ts'

function toAuditEntryJson({ entryId, body }: { entryId: string; body: AuditEntryBody }): AuditEntryJson {
  return {
    entry_id: entryId,
    at: toIso(body.at_ms),
    user_id: body.user_id,
    person: body.person,
    session_id: body.session_id,
    address: body.address,
    action: body.action,
    target: body.target,
    before: body.before,
    after: body.after,
  }
}

/** `/sites/:site/audit-log`: who changed what at a site, and who sent which command. For admins. */
export function createSiteAuditLogApi(sql: Sql): OpenAPIHono<HubEnv> {
  const api = createHubPart()

  api.openapi(
    listRoute('/sites/{site}/audit-log', 'List what was done at a site', {
      description:
        'The audit log of the gateway, with its users. Entries stay here for CARTBARN_HUB_AUDIT_LOG_RETENTION_DAYS, also when the gateway has deleted them. For admins.',
      middleware: [adminOnly],
      request: { params: siteParams, query: auditLogQuerySchema },
      responses: answers(auditLogSchema, 'What was done, newest first.', 400, 403, 404),
    }),
    async (c) => {
      const { site } = c.req.valid('param')
      const { from, to, user_id, action, ...page } = c.req.valid('query')
      requireOrder(from, to)
      await requireSite(sql, c.var.user, site)
      const query = { ...page, fromMs: from, toMs: to, userId: user_id, action }
      const entries = (await listAuditEntries(sql, site, query)).map(toAuditEntryJson)
      return c.json({ entries, pagination: paginationOf(page, entries) }, 200)
    },
  )

  return api
}
