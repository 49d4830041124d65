import { z } from 'zod'
import type { CsvColumn } from '#shared/history/csv-lines.ts'

/** Source for `header`: RFC 4180 3. */
export const CSV_TYPE = 'text/csv; charset=utf-8; header=present'

/** `content` of a route that returns a CSV file. */
export const CSV_CONTENT = { 'text/csv': { schema: z.string() } }

/** Columns of rows, named as in JSON. A required object has one column per member; other objects and lists are JSON. */
export function csvColumns(row: z.ZodObject): CsvColumn[] {
  return Object.entries(row.shape).flatMap(([key, member]): CsvColumn[] => {
    if (!(member instanceof z.ZodObject)) return [{ name: key, path: [key] }]
    return csvColumns(member).map(({ name, path }) => ({ name: `${key}.${name}`, path: [key, ...path] }))
  })
}
