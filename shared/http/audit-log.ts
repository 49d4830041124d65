import type { Context } from 'hono'
import { type AuditEntryJson, auditLogSchema } from '#shared/wire/audit-log.ts'
import { CSV_CONTENT, sendCsv } from './csv.ts'
import { json } from './responses.ts'

const CSV_COLUMNS = [
  ...['entry_id', 'at', 'user_id', 'person', 'session_id', 'address', 'action', 'target', 'before', 'after'],
] as const satisfies (keyof AuditEntryJson)[]

const ANSWER = json(auditLogSchema, 'What was done, newest first.')

/** The answer of an audit log, as JSON or as CSV. */
export const auditLogAnswer = { ...ANSWER, content: { ...ANSWER.content, ...CSV_CONTENT } }

/** Answers with a page of an audit log as a file. */
export function sendAuditLogCsv(c: Context, entries: readonly AuditEntryJson[]): Response {
  return sendCsv(c, CSV_COLUMNS, entries, 'audit-log.csv')
}
