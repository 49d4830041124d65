import { z } from 'zod'

/** Source for `header`: RFC 4180 3. */
export const CSV_TYPE = 'text/csv; charset=utf-8; header=present'

/** `content` of a route that returns a CSV file. */
export const CSV_CONTENT = { 'text/csv': { schema: z.string() } }

/** Column with the path of its value in a row. */
export interface CsvColumn {
  name: string
  path: readonly string[]
}

/** Columns of rows, named as in JSON. A required object has one column per member; other objects and lists are JSON. */
export function csvColumns(row: z.ZodObject): CsvColumn[] {
  return Object.entries(row.shape).flatMap(([key, member]): CsvColumn[] => {
    if (!(member instanceof z.ZodObject)) return [{ name: key, path: [key] }]
    return csvColumns(member).map(({ name, path }) => ({ name: `${key}.${name}`, path: [key, ...path] }))
  })
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
