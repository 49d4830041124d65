export type CsvCell = string | number | boolean | null

/** RFC 4180 with a byte order mark, which is what spreadsheets know UTF-8 by. */
export function toCsv(rows: readonly (readonly CsvCell[])[]): string {
  return `\u{feff}${rows.map((row) => row.map(toCell).join(',')).join('\r\n')}\r\n`
}

// A spreadsheet takes a text that begins like this for a formula: OWASP, CSV Injection.
const FORMULA = /^[=+\-@\t\r]/

function toCell(value: CsvCell): string {
  if (typeof value !== 'string') return value === null ? '' : String(value)
  const text = FORMULA.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
