import { z } from 'zod'

/** Source for `header`: RFC 4180 3. */
export const CSV_TYPE = 'text/csv; charset=utf-8; header=present'

/** What a route says of its answer as a file. */
export const CSV_CONTENT = { 'text/csv': { schema: z.string() } }

/** A column and where in a row its value is. */
export interface CsvColumn {
  name: string
  path: readonly string[]
}

/**
 * The columns of such rows, named as in JSON. An object that every row has is a column for each of its members; other
 * objects and lists are JSON in their cell.
 */
export function csvColumns(row: z.ZodObject): CsvColumn[] {
  return Object.entries(row.shape).flatMap(([key, member]): CsvColumn[] => {
    if (!(member instanceof z.ZodObject)) return [{ name: key, path: [key] }]
    return csvColumns(member).map(({ name, path }) => ({ name: `${key}.${name}`, path: [key, ...path] }))
  })
}

/** The first line of a file: the names of its columns. */
export function csvHeader(columns: readonly CsvColumn[]): string {
  return `${columns.map(({ name }) => name).join(',')}\r\n`
}

/** Lines of a file, one for each row. */
export function csvLines(columns: readonly CsvColumn[], rows: readonly unknown[]): string {
  return rows.map((row) => `${columns.map(({ path }) => cellOf(valueAt(row, path))).join(',')}\r\n`).join('')
}

function valueAt(row: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, key) => Reflect.get(Object(value), key), row)
}

function cellOf(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value !== 'string') return quoted(JSON.stringify(value))
  // a spreadsheet would take what begins like this for a formula
  return quoted(/^[=+\-@\t\r]/.test(value) ? `'${value}` : value)
}

function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
