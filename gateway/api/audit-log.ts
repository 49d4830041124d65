import type { OpenAPIHono } from '@hono/zod-openapi'
import { paginationOf, requireOrder } from '#shared/http/api-env.ts'
import { auditLogAnswer, sendAuditLogCsv } from '#shared/http/audit-log.ts'
import { problems } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import { toIso } from '#shared/time.ts'
import { type AuditEntryJson, auditLogQuerySchema } from '#shared/wire/audit-log.ts'
import type { AuditRow } from '#store/audit-log.ts'
import { type ApiEnv, adminOnly, askerOf, createApi } from './api-env.ts'
import type { ApiDeps } from './deps.ts'

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

/** `/audit-log`: who changed what, and who sent which command. For admins. */
export function createAuditLogApi({ store }: ApiDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()

  api.openapi(
    route.get('/audit-log', 'List what was done', {
      description:
        'Every change of users, keys, PINs, sessions, devices, device types, groups, configuration, zones and enrolment, every backup that was asked for, every deletion of telemetry, and every command, written together with the change. Kept as long as events.',
      middleware: [adminOnly],
      request: { query: auditLogQuerySchema },
      responses: { 200: auditLogAnswer, ...problems(400, 403) },
    }),
    async (c) => {
      const { from, to, user_id, action, format, ...page } = c.req.valid('query')
      requireOrder(from, to)
      const query = { ...page, fromMs: from, toMs: to, userId: user_id, action }
      const rows = await store.readers.run('auditEntries', query, { ...askerOf(c), isShort: true })
      const entries = rows.map(toAuditEntryJson)
      // what the schema says; the types only know values
      if (format === 'csv') return sendAuditLogCsv(c, entries) as never
      return c.json({ entries, pagination: paginationOf(page, entries) }, 200)
    },
  )

  return api
}
