import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import type { RouteConfig } from '@hono/zod-openapi'
import { z } from 'zod'
import { SchemaComponents } from '#shared/http/openapi-schemas.ts'
import { endpointFaults } from '#shared/testing/endpoint-rules.ts'
import { operations } from '#shared/wire/operations.ts'
import { startGateway, type TestGateway } from '#testing/start-gateway.ts'
import { TAGS } from './tags.ts'

/** Documents about the API, not part of it. */
const DOCUMENTS = ['GET /openapi.json', 'GET /docs']

let gateway: TestGateway
let routes: Map<string, RouteConfig>

before(async () => {
  gateway = await startGateway()
  routes = new Map(
    gateway.app.openAPIRegistry.definitions.flatMap((definition) =>
      definition.type === 'route'
        ? [[`${definition.route.method.toUpperCase()} ${definition.route.path}`, definition.route] as const]
        : [],
    ),
  )
})

after(() => gateway.stop())

test('the client knows every operation, and no other', async () => {
  const missing = [...routes.keys()].filter((name) => !(name in operations) && !DOCUMENTS.includes(name))
  const names = await exportedNames()
  const lines = missing.map((name) => lineFor(name, names)).join('\n')
  assert.deepEqual(missing, [], `add to shared/wire/operations.ts:\n${lines}`)
  assert.deepEqual(
    Object.keys(operations).filter((name) => !routes.has(name)),
    [],
  )
})

test('the client takes and gives what the routes do', () => {
  for (const [name, schemas] of Object.entries(operations)) {
    const route = routes.get(name)
    assert.ok(route !== undefined, name)
    const { query, body, answer } = { query: undefined, body: undefined, ...schemas }
    const [success] = Object.entries(route.responses).filter(([status]) => status.startsWith('2'))
    assert.deepEqual(
      shapeOf(answer, 'output'),
      shapeOf(schemaIn(success?.[1]), 'output'),
      `answer of ${name}`,
    )
    assert.deepEqual(shapeOf(query, 'input'), shapeOf(route.request?.query, 'input'), `query of ${name}`)
    assert.deepEqual(
      shapeOf(body, 'input'),
      shapeOf(schemaIn(route.request?.body), 'input'),
      `body of ${name}`,
    )
  }
})

test('every endpoint has a scenario test, a line in docs/api.md, and the chapter of its noun', async () => {
  const { body: document } = await gateway.request('GET', '/openapi.json')
  const folder = new URL('./', import.meta.url)
  const all = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  const files = all.filter((file) => file.endsWith('.test.ts'))
  const tests = files.map((file) => readFileSync(new URL(file, folder), 'utf8'))
  const [, page = ''] = readFileSync(new URL('../../docs/api.md', folder), 'utf8').split(/^## .*$/m)
  assert.deepEqual(endpointFaults({ document, tags: TAGS, tests, page }), [])
})

/** The line an operation is missing in the table. */
function lineFor(name: string, names: ReadonlyMap<unknown, string>): string {
  const { request, responses = {} } = routes.get(name) ?? {}
  const [, success] = Object.entries(responses).find(([status]) => status.startsWith('2')) ?? []
  const parts = { query: request?.query, body: schemaIn(request?.body), answer: schemaIn(success) }
  const nameOf = (schema: unknown): string => {
    const element = schema instanceof z.ZodArray ? names.get(schema.element) : undefined
    return names.get(schema) ?? (element === undefined ? '…' : `z.array(${element})`)
  }
  const given = Object.entries(parts).filter(([, schema]) => schema !== undefined)
  return `  '${name}': { ${given.map(([part, schema]) => `${part}: ${nameOf(schema)}`).join(', ')} },`
}

/** What the schemas of shared/wire are called there. */
async function exportedNames(): Promise<Map<unknown, string>> {
  const names = new Map<unknown, string>()
  const folder = new URL('../../shared/wire/', import.meta.url)
  for (const file of readdirSync(folder).filter((one) => one.endsWith('.ts') && !one.includes('.test.'))) {
    const exported: object = await import(new URL(file, folder).href)
    for (const [name, value] of Object.entries(exported)) names.set(value, name)
  }
  return names
}

/** The schema of the first content type of a request or an answer. */
function schemaIn(part: unknown): unknown {
  if (typeof part !== 'object' || part === null || !('content' in part)) return undefined
  const [media]: unknown[] = Object.values(Object(part.content))
  return typeof media === 'object' && media !== null && 'schema' in media ? media.schema : undefined
}

function shapeOf(schema: unknown, io: 'input' | 'output') {
  if (!(schema instanceof z.ZodType)) return undefined
  const components = new SchemaComponents()
  return { schema: components.convert(schema, io), components: components.schemas }
}
