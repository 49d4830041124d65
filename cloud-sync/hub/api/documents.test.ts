import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { before, test } from 'node:test'
import { describeHubSettings } from '#hub/config.ts'
import { ANY_DATABASE } from '#hub/testing/databases.ts'
import { openHub } from '#hub/testing/open-hub.ts'
import { hubScene } from '#hub/testing/scene.ts'
import { tourOf } from '#shared/http/docs/tour.ts'
import type { OpenApiDocument, Operation } from '#shared/http/openapi.ts'
import type { JsonSchema } from '#shared/http/openapi-schemas.ts'
import { chaptersOf, endpointFaults, undefinedNames } from '#shared/testing/endpoint-rules.ts'
import { TOUR } from './docs-content.ts'
import { TAGS } from './tags.ts'

const { hub, people } = hubScene()
let document: OpenApiDocument
let operations: (Operation & { method: string; path: string })[]

before(async () => {
  document = await people.get('/openapi.json', { key: null })
  operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, one]) => ({ ...one, method: method.toUpperCase(), path })),
  )
})

test('operations have unique names, documented tags and described parameters', () => {
  const ids = operations.map(({ operationId }) => operationId)
  assert.deepEqual([...new Set(ids)], ids)
  const tags = document.tags.map(({ name }) => name)
  for (const { operationId, tags: own, path, parameters } of operations) {
    assert.match(operationId, /^[a-z][A-Za-z0-9]*$/)
    assert.ok(
      own.every((tag) => tags.includes(tag)),
      operationId,
    )
    const declared = parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => `{${name}}`)
    assert.deepEqual(declared.sort(), (path.match(/\{.+?\}/g) ?? []).sort(), operationId)
    for (const { name, description } of parameters) assert.ok(description, `${operationId}: ${name}`)
  }
})

test('every endpoint has a scenario test, a line in docs/api-hub.md and the chapter of its noun', () => {
  const hubFolder = new URL('../', import.meta.url)
  const files = readdirSync(hubFolder, { encoding: 'utf8', recursive: true })
  // they name the path of a site by its gateway
  const tests = files
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => readFileSync(new URL(file, hubFolder), 'utf8').replaceAll(/\$\{\w+\.path\}/g, '/sites/x'))
  const page = chaptersOf(new URL('../../docs/api-hub.md', hubFolder))
  assert.deepEqual(endpointFaults({ document, tags: TAGS, tests, page }), [])
})

test('every reference resolves, and every error code has the status of an error', () => {
  for (const [, path] of JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)) {
    const target = (path ?? '').split('/').reduce<unknown>((value, key) => Reflect.get(Object(value), key), document)
    assert.ok(target !== undefined, path)
  }
  for (const [code, { status }] of Object.entries(document['x-error-codes'])) {
    assert.match(code, /^[a-z]+(_[a-z]+)*$/)
    assert.ok(status >= 400 && status <= 599)
  }
})

test('every schema defines the fields it requires', () => assert.deepEqual(undefinedNames(document), []))

test('every field of a body has a description', () => {
  const silent: string[] = []
  const visit = (schema: JsonSchema, place: string): void => {
    for (const [name, field] of Object.entries(schema.properties ?? {})) {
      if (!explainsItself(field)) silent.push(`${place}.${name}`)
      visit(field, `${place}.${name}`)
    }
    const { anyOf = [], oneOf = [], items } = schema
    for (const part of [...anyOf, ...oneOf, ...(items ? [items] : [])]) visit(part, place)
  }
  for (const name of ['Site', 'HubUser', 'SiteIntent', 'NewSiteIntent', 'QuarantineEntry', 'NewSite'])
    visit(document.components.schemas[name] ?? assert.fail(name), name)
  assert.deepEqual(silent, [])
})

/** True for a field with named values or described parts, which needs no description. */
function explainsItself(field: JsonSchema): boolean {
  const { description, enum: choices, anyOf, items, properties, $ref } = field
  if (description !== undefined || choices !== undefined || 'const' in field) return true
  if (properties !== undefined || $ref !== undefined) return true
  return [...(anyOf ?? []), ...(items ? [items] : [])].some(explainsItself)
}

test('the access rules of every operation match the document', async () => {
  const viewer = await people.createUser({ role: 'viewer', site_ids: null })
  const operator = await people.createUser({ role: 'operator', site_ids: null })
  for (const { method, path, security, operationId } of operations) {
    const at = path.replaceAll(/\{.+?\}/g, '1')
    const codeFor = async (key: string | null) => (await people.request(method, at, { key })).body.code
    assert.equal((await codeFor(null)) === 'missing_api_key', security.length > 0, `${operationId} without a key`)
    if (security.length === 0) continue
    const roles = security.flatMap(({ ApiKeyAuth }) => ApiKeyAuth)
    assert.equal((await codeFor(viewer.key)) === 'admin_required', roles.includes('admin'), operationId)
    assert.equal((await codeFor(viewer.key)) === 'operator_required', roles.includes('operator'), operationId)
    assert.equal((await codeFor(operator.key)) === 'admin_required', roles.includes('admin'), operationId)
    assert.notEqual(await codeFor(operator.key), 'operator_required', operationId)
  }
})

test('the page has every operation, code and setting, is self-contained, and its links resolve', async () => {
  const { body: page, headers } = await people.request('GET', '/docs', { key: null })
  assert.match(headers.get('content-security-policy') ?? '', /^default-src 'none'/)
  for (const { operationId } of operations) assert.ok(page.includes(`id="${operationId}"`), operationId)
  for (const name of [...Object.keys(document['x-error-codes']), ...describeHubSettings().map(({ name }) => name)])
    assert.ok(page.includes(`<th scope="row"><code>${name}</code>`), name)
  const ids = new Set([...page.matchAll(/\sid="([^"]*)"/g)].map(([, id]) => id))
  for (const [, id] of page.matchAll(/\shref="#([^"]*)"/g)) assert.ok(ids.has(id), id)
  assert.doesNotMatch(page, /\ssrc=|<link|@import|url\(|gateway\.invalid/)
})

test('the page documents every operation of the sync protocol', async () => {
  const { body } = await people.request('GET', '/docs', { key: null })
  for (const { method, path } of hub.hub.app.routes)
    if (path.startsWith('/sync/v1/') && method !== 'ALL') assert.ok(body.includes(`${method} ${path}`), path)
})

test('each step of the tour works on a new hub, in order', async () => {
  const steps = tourOf(TOUR, document)
  assert.equal(steps.length, TOUR.steps.length)
  for (const { title, actions } of steps) {
    for (const action of actions) {
      assert.ok('method' in action)
      const { method, path, body } = action
      const answer = await people.request(method, path, { body })
      assert.ok(answer.status < 300, `${title}: ${method} ${path} ${answer.status}`)
    }
  }
})

test('an unknown path gets 404, an unknown method 405, and HEAD works like GET', async () => {
  assert.equal((await people.get('/nothing')).code, 'not_found')
  const wrong = await people.request('PUT', '/sites')
  assert.deepEqual([wrong.status, wrong.headers.get('allow')], [405, 'GET, HEAD, POST'])
  assert.equal((await people.request('HEAD', '/sites')).status, 200)
  assert.equal((await people.request('GET', '/sites/')).status, 200)
})

test('health responds 503 while the database is stopped', async () => {
  const other = await openHub(ANY_DATABASE)
  await other.hub.database.stop()
  try {
    assert.equal((await other.hub.app.request('/health')).status, 503)
  } finally {
    await other.stop()
  }
  assert.deepEqual((await people.get('/health', { key: null })).status, 'ok')
})
