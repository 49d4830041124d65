import type { Context } from 'hono'
import { z } from 'zod'
import { type AuditEntryJson, auditLogSchema } from '#shared/wire/audit-log.ts'
import { json } from './responses.ts'

const CSV_COLUMNS = [
  ...['entry_id', 'at', 'user_id', 'person', 'session_id', 'address', 'action', 'target', 'before', 'after'],
] as const satisfies (keyof AuditEntryJson)[]

const ANSWER = json(auditLogSchema, 'What was done, newest first.')

/** The answer of an audit log, as JSON or as CSV. */
export const auditLogAnswer = {
  ...ANSWER,
  content: { ...ANSWER.content, 'text/csv': { schema: z.string() } },
}

/** Answers with a page of an audit log as a file. */
export function sendAuditLogCsv(c: Context, entries: readonly AuditEntryJson[]): Response {
  return c.body(csvOf(entries), 200, {
    'content-type': 'text/csv; charset=utf-8; header=present',
    'content-disposition': 'attachment; filename="audit-log.csv"',
  })
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
