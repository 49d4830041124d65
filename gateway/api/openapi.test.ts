import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { z } from 'zod'
import type { Operation } from '#shared/http/openapi.ts'
import { type JsonSchema, SchemaComponents } from '#shared/http/openapi-schemas.ts'
import { isCartName } from '#shared/ids.ts'
import { isOneLine } from '#shared/plain-text.ts'
import { undefinedNames } from '#shared/testing/endpoint-rules.ts'
import { newDeviceSchema } from '#shared/wire/devices.ts'
import { ERROR_CODES } from '#shared/wire/error-codes.ts'
import { clientMessageSchema } from '#shared/wire/realtime.ts'
import { oneLine } from '#shared/wire/schema/name.ts'
import { problemSchema } from '#shared/wire/schema/problem.ts'
import { siteSettingsPatchSchema } from '#shared/wire/site.ts'
import { newWebhookSchema } from '#shared/wire/webhooks.ts'
import { ok, scene } from '#testing/scene.ts'
import { ADMIN_KEY } from '#testing/start-gateway.ts'
import type { GatewayDocument } from './documents/openapi.ts'

const { g: gateway } = scene()
let document: GatewayDocument
let operations: (Operation & { method: string; path: string })[]

before(async () => {
  document = (await gateway.get('/openapi.json', { key: null })).body
  operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, method, path })),
  )
})

test('every route is in the document, and nothing else', () => {
  const routes = gateway.app.routes
    .filter(({ method }) => method !== 'ALL')
    .map(({ method, path }) => `${method} ${path.replaceAll(/:([^/]+)/g, '{$1}')}`)
  const documented = operations.map(({ method, path }) => `${method.toUpperCase()} ${path}`)
  assert.deepEqual([...new Set(routes)].sort(), documented.sort())
})

test('the document is OpenAPI 3.1 with unique operations, and every reference has a target', () => {
  assert.equal(document.openapi, '3.1.0')
  assert.match(document.info.version, /^\d+\.\d+\.\d+/)
  const ids = operations.map(({ operationId }) => operationId)
  assert.deepEqual([...new Set(ids)], ids)
  for (const id of ids) assert.match(id, /^[a-z][A-Za-z0-9]*$/)
  for (const [, path] of JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)) {
    const target = (path ?? '').split('/').reduce<unknown>((value, key) => Reflect.get(Object(value), key), document)
    assert.ok(target !== undefined, path)
  }
  const tags = document.tags.map(({ name }) => name)
  for (const operation of operations) assert.ok(operation.tags.every((tag) => tags.includes(tag)))
})

test('every path parameter is declared, and every parameter has a description', () => {
  for (const { operationId, path, parameters } of operations) {
    const declared = parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => `{${name}}`)
    assert.deepEqual(declared.sort(), (path.match(/\{.+?\}/g) ?? []).sort(), operationId)
    for (const { name, description } of parameters) assert.ok(description, `${operationId}: ${name}`)
  }
})

test('a schema defines every field it requires', () => assert.deepEqual(undefinedNames(document), []))

test('every field of a body, or the schema it belongs to, has a description', () => {
  const silent: string[] = []
  const visit = (schema: JsonSchema, place: string): void => {
    for (const [name, field] of Object.entries(schema.properties ?? {})) {
      if (schema.description === undefined && !explainsItself(field)) silent.push(`${place}.${name}`)
      visit(field, `${place}.${name}`)
    }
    const { anyOf = [], oneOf = [], items } = schema
    for (const part of [...anyOf, ...oneOf, ...(items ? [items] : [])]) visit(part, place)
  }
  for (const [name, schema] of Object.entries(document.components.schemas)) visit(schema, name)
  for (const { operationId, requestBody, responses } of operations) {
    const contents = [requestBody, ...Object.values(responses)].flatMap((part) =>
      part !== undefined && 'content' in part ? Object.values(part.content ?? {}) : [],
    )
    for (const { schema } of contents) visit(schema ?? {}, operationId)
  }
  assert.deepEqual(silent, [])
})

/** True for a field with named values or described members, which needs no description. */
function explainsItself(field: JsonSchema): boolean {
  const { description, enum: choices, anyOf, items, properties, $ref } = field
  if (description !== undefined || choices !== undefined || 'const' in field) return true
  if (properties !== undefined || $ref !== undefined) return true
  return [...(anyOf ?? []), ...(items ? [items] : [])].some(explainsItself)
}

test('every example fits the schema it explains', () => {
  const $defs = document.components.schemas
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    if ('examples' in value && Array.isArray(value.examples)) {
      const text = JSON.stringify({ ...value, $defs }).replaceAll('#/components/schemas/', '#/$defs/')
      for (const example of value.examples) {
        const { error } = z.fromJSONSchema(JSON.parse(text)).safeParse(example)
        assert.equal(error, undefined, `${JSON.stringify(example)}: ${error?.message}`)
      }
    }
    for (const part of Object.values(value)) visit(part)
  }
  visit(document.components.schemas)
  visit(document.paths)
})

test('access to each operation is as documented', async () => {
  const { key } = await gateway.createUser({ allowed_hardware_ids: ['cart-1'] })
  for (const { method, path, security, operationId } of operations) {
    const call = (caller: string | null) =>
      gateway.request(method.toUpperCase(), path.replaceAll(/\{.+?\}/g, '1'), { key: caller })
    const isOpen = security.length === 0
    const isForAdmins = security.some(({ ApiKeyAuth }) =>
      ApiKeyAuth?.some((role) => ['admin', 'metrics'].includes(role)),
    )
    const anonymous = await call(null)
    assert.equal(anonymous.body.code === 'missing_api_key', !isOpen, `${operationId} without a key`)
    // a handler of an open route decides itself, for example by a token
    if (isOpen) continue
    // every user may set the own PIN
    if (operationId === 'putUserPin') continue
    const user = await call(key)
    assert.equal(user.body.code === 'admin_required', isForAdmins, `${operationId} for a user`)
    const isForStaff = security.some(({ ApiKeyAuth }) => ApiKeyAuth?.includes('staff'))
    assert.equal(user.body.code === 'staff_required', isForStaff, `${operationId} for a user`)
  }
})

test('the document needs no key, is sent once and is 304 by its ETag the next time', async () => {
  const first = await gateway.get('/openapi.json', { key: null })
  const etag = first.headers.get('etag') ?? ''
  assert.match(etag, /^"/)
  const second = await gateway.get('/openapi.json', { key: null, headers: { 'if-none-match': etag } })
  assert.deepEqual([second.status, second.body, second.headers.get('etag')], [304, '', etag])
  await ok(gateway.get('/openapi.json', { key: ADMIN_KEY, headers: { 'if-none-match': '"x"' } }))
})

test('every error code is snake_case with the status of an error', () => {
  for (const [code, { status }] of Object.entries(ERROR_CODES)) {
    assert.match(code, /^[a-z]+(_[a-z]+)*$/)
    assert.ok(status >= 400 && status <= 599)
  }
  assert.deepEqual(document['x-error-codes'], ERROR_CODES)
  assert.ok(Object.hasOwn(document.components.schemas, problemSchema.meta()?.id ?? ''))
})

test('messages that a client may send on /realtime are described, with valid examples', () => {
  const described = document['x-realtime'].messages.filter(({ from }) => from === 'client')
  for (const option of clientMessageSchema.options) {
    const type = option.shape.type.value
    const message = described.find((one) => one.type === type)
    assert.ok(message !== undefined, `${type} is not described`)
    assert.ok(clientMessageSchema.safeParse(message.example).success, type)
  }
})

test('the document has the characters that a text may contain', () => {
  const patternOf = (schema: z.ZodType) =>
    String(new SchemaComponents().convert(schema.meta({ description: 'Of a test.' }), 'input').pattern)
  const { cart } = newDeviceSchema.shape
  const cartSchema = cart.unwrap().unwrap()
  for (const [schema, isRight] of [
    [oneLine.min(1), isOneLine],
    [cartSchema, isCartName],
  ] as const)
    for (const flags of ['', 'u']) {
      const isAllowed = new RegExp(patternOf(schema), flags)
      for (let code = 0; code <= 0xffff; code++) {
        const text = `a${String.fromCharCode(code)}b`
        if (code < 0xd800 || code > 0xdfff) assert.equal(isAllowed.test(text), isRight(text), code.toString(16))
      }
      assert.ok(isAllowed.test('\u{1f3cc}'))
    }
  const isCart = new RegExp(patternOf(cartSchema))
  for (const name of ['site', 'Site', 'sites', 'a site', ' site '])
    assert.equal(isCart.test(name), cartSchema.safeParse(name).success, name)
  const { time_zone: zone } = siteSettingsPatchSchema.shape
  const isZone = new RegExp(patternOf(zone.unwrap().unwrap()))
  for (const name of Intl.supportedValuesOf('timeZone')) assert.ok(isZone.test(name), name)
  for (const name of ['', '+02:00', 'Europe/Zürich', ' UTC']) assert.ok(!isZone.test(name), name)
  const isUrl = new RegExp(patternOf(newWebhookSchema.shape.url))
  for (const url of ['http://a', 'HTTPS://a.b/c?d', 'ftp://a', 'a', '', 'http://a b', ' http://a', 'http:\n//a'])
    assert.equal(isUrl.test(url), newWebhookSchema.shape.url.safeParse(url).success, url)
})
