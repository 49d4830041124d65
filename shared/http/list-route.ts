import { createRoute, type RouteConfig } from '@hono/zod-openapi'
import type { Context, MiddlewareHandler } from 'hono'
import { z } from 'zod'
import type { RequestEnv } from './api-env.ts'
import { attachment } from './attachment.ts'
import { CSV_CONTENT, CSV_TYPE, csvColumns, csvHeader, csvLines } from './csv.ts'
import { acceptedFormat } from './history-answers.ts'

type ListConfig = Omit<RouteConfig, 'method' | 'path' | 'summary'> & {
  responses: { 200: { description: string; content: { 'application/json': { schema: z.ZodType } } } }
}

/**
 * The route of a list: what its handler answers is JSON, and with `format=csv` or `Accept: text/csv` a file of the same
 * rows. Rows are the items of the answer, or of its first list of objects. A route that is not mounted by
 * `openapi()` needs its `asTable` before the handler.
 */
export function listRoute<const Path extends string, const Rest extends ListConfig>(
  path: Path,
  summary: string,
  rest: Rest,
) {
  const made = createRoute({ method: 'get', path, summary, ...rest })
  const { middleware = [], responses } = rest
  const ok = responses[200]
  const asTable = answerAsTable(ok.content['application/json'].schema)
  return Object.assign(made, {
    asTable,
    middleware: [...[middleware].flat(), asTable],
    responses: { ...responses, 200: { ...ok, content: { ...ok.content, ...CSV_CONTENT } } },
  })
}

function answerAsTable(list: z.ZodType): MiddlewareHandler<RequestEnv> {
  const { name, row } = rowsIn(list)
  const columns = csvColumns(row)
  return async (c, next) => {
    await next()
    if (!wantsCsv(c) || c.res.status !== 200 || c.var.isStreamed === true) return
    const headers = new Headers(c.res.headers)
    // of this program's own making, by the schema that the columns come from
    const answer: unknown = await c.res.json()
    const rows: unknown = name === null ? answer : Reflect.get(Object(answer), name)
    headers.set('content-type', CSV_TYPE)
    headers.set('content-disposition', attachment(`${c.var.file ?? fileOf(c)}.csv`))
    // an answer that was read cannot be sent: another one takes its place
    c.res = undefined
    c.res = new Response(csvHeader(columns) + csvLines(columns, Array.isArray(rows) ? rows : []), { headers })
  }
}

/** Whether the caller wants CSV rather than JSON. */
function wantsCsv(c: Context): boolean {
  const format = c.req.query('format')
  return (format ?? acceptedFormat(c, ['json', 'csv'])) === 'csv'
}

/** A file is named after its path, so that two lists do not overwrite each other. */
function fileOf({ req }: Context): string {
  return decodeURIComponent(req.path).slice(1)
}

/** The rows of a list: what each is, and the member of the answer that has them; null where the answer is the rows. */
function rowsIn(list: z.ZodType): { name: string | null; row: z.ZodObject } {
  if (list instanceof z.ZodArray && list.element instanceof z.ZodObject) return { name: null, row: list.element }
  const members = list instanceof z.ZodObject ? Object.entries(list.shape) : []
  for (const [name, member] of members)
    if (member instanceof z.ZodArray && member.element instanceof z.ZodObject) return { name, row: member.element }
  throw new Error('the answer has no list of objects')
}
