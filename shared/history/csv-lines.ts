/** Column with the path of its value in a row. */
export interface CsvColumn {
  name: string
  path: readonly string[]
}

export function csvHeader(columns: readonly CsvColumn[]): string {
  return `${columns.map(({ name }) => name).join(',')}\r\n`
}

export function csvLines(columns: readonly CsvColumn[], rows: readonly unknown[]): string {
  return rows.map((row) => `${columns.map(({ path }) => cellOf(valueAt(row, path))).join(',')}\r\n`).join('')
}

function valueAt(row: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, key) => Reflect.get(Object(value), key), row)
}

function cellOf(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value !== 'string') return quoted(JSON.stringify(value))
  // prevents a spreadsheet from executing the cell as a formula
  return quoted(/^[=+\-@\t\r]/.test(value) ? `'${value}` : value)
}

function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
