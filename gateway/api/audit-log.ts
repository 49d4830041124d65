import type { OpenAPIHono } from '@hono/zod-openapi'
import { z } from 'zod'
import { paginationOf, requireOrder } from '#shared/http/api-env.ts'
import { json, problems } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import { toIso } from '#shared/time.ts'
import { type AuditEntryJson, auditLogQuerySchema, auditLogSchema } from '#shared/wire/audit-log.ts'
import type { AuditRow } from '#store/audit-log.ts'
import { type ApiEnv, adminOnly, askerOf, createApi } from './api-env.ts'
import type { ApiDeps } from './deps.ts'

const CSV_COLUMNS = [
  ...['entry_id', 'at', 'user_id', 'person', 'session_id', 'address', 'action', 'target', 'before', 'after'],
] as const satisfies (keyof AuditEntryJson)[]

function toAuditEntryJson(row: AuditRow): AuditEntryJson {
  return {
    entry_id: row.entryId,
    at: toIso(row.atMs),
    user_id: row.userId,
    person: null,
    session_id: null,
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
  const answer = json(auditLogSchema, 'What was done, newest first.')

  api.openapi(
    route.get('/audit-log', 'List what was done', {
      description:
        'Every change of users, keys, devices, device types, groups, configuration, zones and enrolment, every deletion of telemetry, and every command, written together with the change. Kept as long as events.',
      middleware: [adminOnly],
      request: { query: auditLogQuerySchema },
      responses: {
        200: { ...answer, content: { ...answer.content, 'text/csv': { schema: z.string() } } },
        ...problems(400, 403),
      },
    }),
    async (c) => {
      const { from, to, user_id, action, format, ...page } = c.req.valid('query')
      requireOrder(from, to)
      const query = { ...page, fromMs: from, toMs: to, userId: user_id, action }
      const rows = await store.readers.run('auditEntries', query, { ...askerOf(c), isShort: true })
      const entries = rows.map(toAuditEntryJson)
      if (format === 'csv')
        return c.body(csvOf(entries), 200, {
          'content-type': 'text/csv; charset=utf-8; header=present',
          'content-disposition': 'attachment; filename="audit-log.csv"',
        }) as never // what the schema says; the types only know values
      return c.json({ entries, pagination: paginationOf(page, entries) }, 200)
    },
  )

  return api
}

function csvOf(entries: readonly AuditEntryJson[]): string {
  const lines = entries.map((entry) => CSV_COLUMNS.map((column) => cellOf(entry[column])).join(','))
  return `${[CSV_COLUMNS.join(','), ...lines].join('\r\n')}\r\n`
}

function cellOf(value: AuditEntryJson[keyof AuditEntryJson]): string {
  if (value === null) return ''
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  // a spreadsheet would take what begins like this for a formula
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
