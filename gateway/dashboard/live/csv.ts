import type { MeJson } from '#shared/wire/sessions.ts'

export type Language = MeJson['site']['language']
export type CsvCell = string | number | boolean | null

/** RFC 4180 with a byte order mark, by which spreadsheets recognise UTF-8; German ones expect `;` and decimal comma. */
export function toCsv(rows: readonly (readonly CsvCell[])[], language: Language): string {
  const separator = language === 'de' ? ';' : ','
  const line = (row: readonly CsvCell[]) => row.map((cell) => toCell(cell, language)).join(separator)
  return `\u{feff}${rows.map(line).join('\r\n')}\r\n`
}

/** Formats objects with equal members; the member names are the first line. */
export function recordsToCsv(records: readonly object[], language: Language): string {
  const names = Object.keys(records[0] ?? {})
  const rows = records.map((record) => {
    const values = new Map(Object.entries(record))
    return names.map((name) => values.get(name) ?? null)
  })
  return toCsv([names, ...rows], language)
}

// A spreadsheet treats text that begins like this as a formula: OWASP, CSV Injection.
const FORMULA = /^[=+\-@\t\r]/

function toCell(value: CsvCell, language: Language): string {
  if (typeof value === 'number' && language === 'de') return String(value).replace('.', ',')
  if (typeof value !== 'string') return value === null ? '' : String(value)
  const text = FORMULA.test(value) ? `'${value}` : value
  return /[",;\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
