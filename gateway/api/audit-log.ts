import type { OpenAPIHono } from '@hono/zod-openapi'
import { paginationOf, requireOrder } from '#shared/http/api-env.ts'
import { listRoute } from '#shared/http/list-route.ts'
import { answers } from '#shared/http/responses.ts'
import { toIso } from '#shared/time.ts'
import { type AuditEntryJson, auditLogQuerySchema, auditLogSchema } from '#shared/wire/audit-log.ts'
import type { AuditRow } from '#store/tables/audit-log.ts'
import { type ApiEnv, adminOnly, createApi, listerOf } from './api-env.ts'
import type { RecordsDeps } from './deps.ts'

function toAuditEntryJson(row: AuditRow): AuditEntryJson {
  return {
    entry_id: row.entryId,
    at: toIso(row.atMs),
    user_id: row.userId,
    person: row.personJson === null ? null : JSON.parse(row.personJson),
    session_id: row.sessionId,
    address: row.address,
    action: row.action,
    target: row.target,
    before: row.beforeJson === null ? null : JSON.parse(row.beforeJson),
    after: row.afterJson === null ? null : JSON.parse(row.afterJson),
  }
}

/** `/audit-log`: changes and commands with the users who made them. For admins. */
export function createAuditLogApi({ store }: RecordsDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()

  api.openapi(
    listRoute('/audit-log', 'List what was done', {
      description:
        'Every change of users, keys, PINs, sessions, devices, device types, groups, configuration, zones and ' +
        'enrolment, every requested backup, every deletion of telemetry, and every command, written ' +
        'together with the change. Kept as long as events.',
      middleware: [adminOnly],
      request: { query: auditLogQuerySchema },
      responses: answers(auditLogSchema, 'Entries, newest first.', 400, 403),
    }),
    async (c) => {
      const { from, to, user_id, action, ...page } = c.req.valid('query')
      requireOrder(from, to)
      const query = { ...page, fromMs: from, toMs: to, userId: user_id, action }
      const rows = await store.readers.run('auditEntries', query, listerOf(c, page.offset > 0))
      const entries = rows.map(toAuditEntryJson)
      return c.json({ entries, pagination: paginationOf(page, entries) }, 200)
    },
  )

  return api
}
