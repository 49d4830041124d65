import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { FakeClock } from '#shared/testing/clocks.ts'
import { MINUTE_MS } from '#shared/time.ts'
import { createCallers, REFUSED_AS_NO_ADMIN, type Who } from '#testing/callers.ts'
import { startGateway, type TestGateway } from '#testing/start-gateway.ts'

const clock = new FakeClock()
let g: TestGateway
let keys: Record<Who, string | null>

const TYPE_LAYER = { realtime_enabled: true, key_keyless_state: 'key' }

before(async () => {
  g = await startGateway({}, { clock })
  await g.register('cart-1')
  await g.request('POST', '/groups', { body: { name: 'Front nine', group_id: 42 } })
  keys = await createCallers(g, ['cart-1'])
})
after(() => g.stop())
// failed keys of one test must not lock out those of the next
beforeEach(() => clock.advance(MINUTE_MS))

function put(path: string, body: unknown) {
  return g.request('PUT', path, { body })
}

async function configOf(hardwareId: string) {
  const { status, body } = await g.request('GET', `/devices/${hardwareId}/config`)
  assert.equal(status, 200)
  return body
}

const ROUTES: [method: string, path: string, status: number, code: string, body?: object][] = [
  ['GET', '/groups/999999/config', 404, 'group_not_found'],
  ['GET', '/groups/999999/config/teebox', 404, 'group_not_found'],
  ['PUT', '/groups/999999/config/teebox', 404, 'group_not_found', {}],
  ['DELETE', '/groups/999999/config/teebox', 404, 'group_not_found'],
  ['GET', '/groups/42/config/boat', 400, 'unknown_device_type'],
  ['PUT', '/groups/42/config/boat', 400, 'unknown_device_type', {}],
  ['DELETE', '/groups/42/config/boat', 400, 'unknown_device_type'],
  ['GET', '/groups/abc/config', 400, 'invalid_number'],
  ['GET', '/groups/0/config/teebox', 400, 'invalid_number'],
  ['PUT', '/groups/0/config/teebox', 400, 'invalid_number', {}],
  ['DELETE', '/groups/1.5/config/teebox', 400, 'invalid_number'],
  ['GET', '/devices/nowhere/config', 404, 'device_not_found'],
  ['PUT', '/devices/nowhere/config', 404, 'device_not_found', {}],
  ['DELETE', '/devices/nowhere/config', 404, 'device_not_found'],
  ['GET', '/devices/cart-1/config?schema=maybe', 400, 'invalid_parameter'],
]

for (const [method, path, status, code, body] of ROUTES) {
  const options = body === undefined ? {} : { body }
  for (const [who, refusal, refusalCode] of REFUSED_AS_NO_ADMIN) {
    test(`${method} ${path}: ${who} gets ${refusal} ${refusalCode}`, async () => {
      const answer = await g.request(method, path, { key: keys[who], ...options })
      assert.deepEqual([answer.status, answer.body.code], [refusal, refusalCode])
    })
  }
  test(`${method} ${path}: an admin gets ${status} ${code}`, async () => {
    const answer = await g.request(method, path, options)
    assert.deepEqual([answer.status, answer.body.code], [status, code])
  })
}

const LAYER_PATHS = ['/groups/42/config/teebox', '/devices/cart-1/config']

for (const path of LAYER_PATHS) {
  for (const [what, layer, names] of [
    ['a wrong value', { realtime_enabled: 'yes' }, ['realtime_enabled']],
    [
      'several wrong values',
      { realtime_enabled: 1, key_keyless_state: 'open', x: 1 },
      ['realtime_enabled', 'key_keyless_state'],
    ],
    ['a name that is more than a name', '{"__proto__":{"realtime_enabled":1}}', ['__proto__']],
  ] as [string, unknown, string[]][]) {
    test(`PUT ${path} with ${what} is 400 with an error for each key, and changes nothing`, async () => {
      const known = await configOf('cart-1')
      const { status, body } = await put(path, layer)
      assert.deepEqual([status, body.code], [400, 'invalid_field'])
      assert.deepEqual(
        body.errors.map((error: { in: string; name: string }) => [error.in, error.name]),
        names.map((name) => ['body', name]),
      )
      assert.deepEqual(await configOf('cart-1'), known)
    })
  }

  for (const [what, status, code, body] of [
    ['a list', 400, 'invalid_body', '[]'],
    ['null', 400, 'invalid_body', 'null'],
    ['broken JSON', 400, 'invalid_json', '{"a":'],
    ['8 KiB and a byte', 400, 'too_large', { text: 'x'.repeat(8192 - '{"text":""}'.length + 1) }],
    ['8 KiB of two-byte characters', 400, 'too_large', { text: 'ü'.repeat(4096) }],
    ['more than 64 KiB', 413, 'payload_too_large', { text: 'x'.repeat(70_000) }],
  ] as [string, number, string, unknown][]) {
    test(`PUT ${path} with ${what} is ${status} ${code}`, async () => {
      const answer = await put(path, body)
      assert.deepEqual([answer.status, answer.body.code], [status, code])
    })
  }

  test(`PUT ${path} not as JSON is 415`, async () => {
    const headers = { 'content-type': 'text/plain' }
    assert.equal((await g.request('PUT', path, { body: '{}', headers })).status, 415)
  })

  test(`PUT ${path} takes 8 KiB, whatever the values are`, async () => {
    const layer = { text: 'x'.repeat(8192 - '{"text":""}'.length) }
    assert.equal((await put(path, layer)).status, 200)
    const nested = (levels: number) => JSON.parse(`{"a":${'['.repeat(levels)}${']'.repeat(levels)}}`)
    assert.equal((await put(path, nested(30))).status, 200)
    const tooDeep = await put(path, nested(4000))
    assert.deepEqual([tooDeep.status, tooDeep.body.code], [400, 'invalid_body'])
    assert.equal((await g.request('DELETE', path)).status, 200)
  })
}

test('layers are merged by key: the device over its group, the group over the type', async () => {
  await g.register('layered')
  await g.request('PUT', '/groups/42/devices/layered')
  const steps: [path: string, layer: object, resolved: object][] = [
    ['/groups/42/config/teebox', { key_keyless_state: 'keyless' }, { key_keyless_state: 'keyless' }],
    ['/devices/layered/config', { realtime_enabled: false }, { realtime_enabled: false, key_keyless_state: 'keyless' }],
    ['/devices/layered/config', { key_keyless_state: 'key' }, {}],
    ['/groups/42/config/teebox', { realtime_enabled: false }, { realtime_enabled: false }],
    ['/devices/layered/config', { key_keyless_state: null, beep: 3 }, { realtime_enabled: false, beep: 3 }],
    ['/groups/42/config/cartcaddie', { realtime_enabled: true }, { realtime_enabled: false, beep: 3 }],
    ['/devices/layered/config', {}, { realtime_enabled: false }],
    ['/groups/42/config/teebox', {}, {}],
  ]
  for (const [path, layer, resolved] of steps) {
    assert.equal((await put(path, layer)).status, 200)
    assert.deepEqual((await configOf('layered')).resolved, { ...TYPE_LAYER, ...resolved })
  }
})

test('a device shows its layers, its version, and on request the schema', async () => {
  await g.register('shown')
  await g.request('PUT', '/groups/42/devices/shown')
  const group = await put('/groups/42/config/teebox', { key_keyless_state: 'keyless', gone: null })
  assert.deepEqual(group.body, {
    group_id: 42,
    device_type: 'teebox',
    config: { key_keyless_state: 'keyless' },
    devices: group.body.devices,
    published: group.body.published,
    warnings: [],
  })
  assert.ok(group.body.devices >= 1)
  const device = await put('/devices/shown/config', { beep: 3, realtime_enabled: false })
  const nowIso = new Date(clock.nowMs()).toISOString()
  const shown = {
    hardware_id: 'shown',
    device_type: 'teebox',
    group_id: 42,
    resolved: { beep: 3, key_keyless_state: 'keyless', realtime_enabled: false },
    layers: {
      type: TYPE_LAYER,
      group: { key_keyless_state: 'keyless' },
      device: { beep: 3, realtime_enabled: false },
    },
    version: device.body.version,
    published_at: nowIso,
    applied_version: null,
    applied_at: null,
  }
  const warnings = [{ name: 'beep', code: 'unknown_key', detail: 'the device type has no setting with this key' }]
  assert.deepEqual(device.body, { ...shown, published: 1, warnings })
  assert.deepEqual(await configOf('shown'), shown)
  const { schema, ...others } = (await g.request('GET', '/devices/shown/config?schema=true')).body
  assert.deepEqual(others, shown)
  assert.deepEqual(schema, (await g.request('GET', '/device-types/teebox')).body.config_schema)
  const shortId = (await g.request('GET', '/devices/shown')).body.short_id
  assert.deepEqual((await g.request('GET', `/devices/${shortId}/config`)).body, shown)

  const cleared = await g.request('DELETE', '/devices/shown/config')
  assert.equal(cleared.status, 200)
  assert.deepEqual(cleared.body.layers.device, {})
  assert.equal(cleared.body.published, 1)
})

test('the layers of a group are shown by type, cleared, and gone with the group', async () => {
  await g.request('POST', '/groups', { body: { name: 'Layers', group_id: 77 } })
  assert.deepEqual((await g.request('GET', '/groups/77/config')).body.config.teebox, {})
  await put('/groups/77/config/teebox', { key_keyless_state: 'keyless', beep: 1 })
  await put('/groups/77/config/cartcaddie', { realtime_enabled: false })
  const { group_id, config } = (await g.request('GET', '/groups/77/config')).body
  assert.equal(group_id, 77)
  assert.deepEqual(config.teebox, { key_keyless_state: 'keyless', beep: 1 })
  assert.deepEqual(config.cartcaddie, { realtime_enabled: false })
  assert.deepEqual((await g.request('GET', '/groups/77/config/teebox')).body, {
    group_id: 77,
    device_type: 'teebox',
    config: { key_keyless_state: 'keyless', beep: 1 },
    devices: 0,
    warnings: [{ name: 'beep', code: 'unknown_key', detail: 'the device type has no setting with this key' }],
  })
  const cleared = await g.request('DELETE', '/groups/77/config/teebox')
  assert.equal(cleared.status, 200)
  assert.deepEqual([cleared.body.config, cleared.body.published, cleared.body.warnings], [{}, 0, []])
  assert.equal((await g.request('DELETE', '/groups/77')).status, 200)
  for (const start of ['before', 'after']) {
    await g.request('POST', '/groups', { body: { name: start, group_id: 77 } })
    assert.deepEqual((await g.request('GET', '/groups/77/config/cartcaddie')).body.config, {})
    await g.restart()
    assert.equal((await g.request('DELETE', '/groups/77')).status, 200)
  }
})

test('layers are the same after a restart', async () => {
  await put('/groups/42/config/teebox', { key_keyless_state: 'keyless' })
  await put('/devices/cart-1/config', { beep: { on: null, notes: ['ü', 1.5] } })
  await g.request('PUT', '/groups/42/devices/cart-1')
  const known = await configOf('cart-1')
  await g.restart()
  assert.deepEqual(await configOf('cart-1'), known)
})

test('a device that is registered again has no layer of its own', async () => {
  await g.register('again')
  await put('/devices/again/config', { beep: 1 })
  const { version } = await configOf('again')
  await g.request('DELETE', '/devices/again')
  await g.register('again')
  const config = await configOf('again')
  assert.deepEqual([config.layers.device, config.resolved], [{}, TYPE_LAYER])
  assert.ok(config.version > version)
})
