import assert from 'node:assert/strict'
import type { OpenApiDocument, Operation } from '#shared/http/openapi.ts'
import { resolveSchema } from '#shared/http/openapi-sample.ts'
import type { JsonSchema } from '#shared/http/openapi-schemas.ts'

/** A GET that answers rows; `name` is the member of the answer that has them, null where the answer is the rows. */
interface ListOperation {
  path: string
  name: string | null
  operation: Operation
}

interface ListAnswer {
  status: number
  headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  body: any
}

type Ask = (path: string, headers?: Record<string, string>) => Promise<ListAnswer>

/** Every GET whose answer is a list of objects, or has one among its members. */
export function listOperations({ paths, components }: OpenApiDocument): ListOperation[] {
  const resolve = (schema: JsonSchema) => resolveSchema(schema, components.schemas)
  const isRows = (schema: JsonSchema) => {
    const { type, items } = resolve(schema)
    return type === 'array' && items && resolve(items).type === 'object'
  }
  return Object.entries(paths).flatMap(([path, { get: operation }]): ListOperation[] => {
    const ok = operation?.responses['200']
    const schema = ok !== undefined && 'content' in ok ? ok.content?.['application/json']?.schema : undefined
    if (operation === undefined || schema === undefined) return []
    if (isRows(schema)) return [{ path, name: null, operation }]
    const [rows] = Object.entries(resolve(schema).properties ?? {}).filter(([, member]) => isRows(member))
    return rows === undefined ? [] : [{ path, name: rows[0], operation }]
  })
}

/** Lists without an order, or that cannot be had as CSV; `others` have a reason, by path. */
export function listFaults(document: OpenApiDocument, others: Readonly<Record<string, string>>): string[] {
  const lists = listOperations(document)
  const unknown = Object.keys(others).filter((path) => lists.every((list) => list.path !== path))
  const faults = lists.flatMap(({ path, operation: { parameters, responses } }) => {
    const names = parameters.map(({ name }) => name)
    const ok = responses['200']
    const isTable = ok !== undefined && 'content' in ok && ok.content?.['text/csv'] !== undefined
    if (names.includes('order') && names.includes('format') && isTable) return []
    return Object.hasOwn(others, path) ? [] : [`${path} has no order or no CSV`]
  })
  return [...faults, ...unknown.map((path) => `${path} is no list`)]
}

/**
 * Holds a list to what every list does, by its path with all that it requires: an order, of which another word is an
 * error, and the same rows as CSV by either way of asking. Returns how many rows it has.
 */
export async function checkList(ask: Ask, path: string, name: string | null): Promise<number> {
  const prefix = path.includes('?') ? `${path}&` : `${path}?`
  const rowsOf = ({ body }: ListAnswer): unknown[] => (name === null ? body : body[name])
  const answer = async (query: string, headers?: Record<string, string>) => {
    const got = await ask(`${prefix}${query}`, headers)
    assert.equal(got.status, 200, `${path} ${query}: ${JSON.stringify(got.body)}`)
    return got
  }
  const ascending = rowsOf(await answer('order=asc')).map(idOf)
  const descending = rowsOf(await answer('order=desc')).map(idOf)
  assert.deepEqual(descending, ascending.toReversed(), `${path} descending`)
  for (const [query, code] of [
    ['order=sideways', /^invalid_/],
    ['format=xml', /^invalid_format$/],
    ['order=asc&order=desc', /^invalid_parameter$/],
  ] as const) {
    const { status, body } = await ask(`${prefix}${query}`)
    assert.equal(status, 400, `${path} ${query}`)
    assert.match(body.code, code, `${path} ${query}`)
  }
  const file = await answer('order=asc&format=csv')
  const accepted = await answer('order=asc', { accept: 'text/csv' })
  for (const { headers, body } of [file, accepted]) {
    assert.match(headers.get('content-type') ?? '', /^text\/csv/, path)
    assert.match(headers.get('content-disposition') ?? '', /^attachment; filename="[A-Za-z0-9._=-]+\.csv"$/)
    const lines = linesIn(body)
    assert.equal(lines.length - 1, ascending.length, `${path} as CSV`)
    for (const line of lines) assert.equal(line.length, lines[0]?.length, `${path} as CSV`)
  }
  assert.ok(Array.isArray(rowsOf(await answer('order=asc&format=json', { accept: 'text/csv' }))), path)
  return ascending.length
}

/** Identifies a row by its first text. Figures and derived texts change from one request to the next. */
function idOf(row: unknown): unknown {
  return Object.values(Object(row)).find((value) => typeof value === 'string')
}

/** Cells by line. Source: RFC 4180. */
export function linesIn(csv: string): string[][] {
  assert.ok(csv.endsWith('\r\n'))
  const cells = [...csv.matchAll(/("(?:[^"]|"")*"|[^",\r\n]*)(,|\r\n)/g)]
  const lines: string[][] = [[]]
  for (const [, cell = '', end] of cells) {
    lines.at(-1)?.push(cell.replace(/^"(.*)"$/s, '$1').replaceAll('""', '"'))
    if (end === '\r\n') lines.push([])
  }
  return lines.slice(0, -1)
}
