import type { Context } from 'hono'
import { z } from 'zod'
import { attachment } from './attachment.ts'

/** What a route says of its answer as a file. */
export const CSV_CONTENT = { 'text/csv': { schema: z.string() } }

/** Answers with rows as a file of this name; `columns` are its header. */
export function sendCsv<Column extends string>(
  c: Context,
  columns: readonly Column[],
  rows: readonly Readonly<Record<Column, unknown>>[],
  file: string,
): Response {
  const lines = rows.map((row) => columns.map((column) => cellOf(row[column])).join(','))
  return c.body(`${[columns.join(','), ...lines].join('\r\n')}\r\n`, 200, {
    'content-type': 'text/csv; charset=utf-8; header=present',
    'content-disposition': attachment(file),
  })
}

function cellOf(value: unknown): string {
  if (value === null) return ''
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  // a spreadsheet would take what begins like this for a formula
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
