import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fails, ok, pluck, scene } from '#testing/scene.ts'

const { g, clock, onlyFor } = scene({ devices: ['cart-1'], groups: [42], inScope: ['cart-1'] })
const TYPE_LAYER = { realtime_enabled: true, key_keyless_state: 'key' }
const configOf = async (hardwareId: string) => ok(g.get(`/devices/${hardwareId}/config`))

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
  onlyFor('admins', [method, path, body])
  test(`${method} ${path}: an admin gets ${status} ${code}`, () =>
    fails(g.request(method, path, { body }), status, code))
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
  ] as [string, unknown, string[]][])
    test(`PUT ${path} with ${what} is 400 with an error for each key, and changes nothing`, async () => {
      const known = await configOf('cart-1')
      const body = await fails(g.put(path, layer), 400, 'invalid_field')
      assert.deepEqual(
        pluck(body.errors, 'in', 'name'),
        names.map((name) => ['body', name]),
      )
      assert.deepEqual(await configOf('cart-1'), known)
    })

  for (const [what, status, code, body] of [
    ['a list', 400, 'invalid_body', '[]'],
    ['null', 400, 'invalid_body', 'null'],
    ['broken JSON', 400, 'invalid_json', '{"a":'],
    ['8 KiB and a byte', 400, 'too_large', { text: 'x'.repeat(8192 - '{"text":""}'.length + 1) }],
    ['8 KiB of two-byte characters', 400, 'too_large', { text: 'ü'.repeat(4096) }],
    ['more than 64 KiB', 413, 'payload_too_large', { text: 'x'.repeat(70_000) }],
  ] as [string, number, string, unknown][])
    test(`PUT ${path} with ${what} is ${status} ${code}`, () => fails(g.put(path, body), status, code))

  test(`PUT ${path} not as JSON is 415`, async () =>
    assert.equal((await g.put(path, '{}', { headers: { 'content-type': 'text/plain' } })).status, 415))

  test(`PUT ${path} takes 8 KiB, whatever the values are`, async () => {
    await ok(g.put(path, { text: 'x'.repeat(8192 - '{"text":""}'.length) }))
    const nested = (levels: number) => JSON.parse(`{"a":${'['.repeat(levels)}${']'.repeat(levels)}}`)
    await ok(g.put(path, nested(30)))
    await fails(g.put(path, nested(4000)), 400, 'invalid_body')
    await ok(g.remove(path))
  })
}

test('layers are merged by key: the device over its group, the group over the type', async () => {
  await g.register('layered')
  await g.put('/groups/42/devices/layered')
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
    await ok(g.put(path, layer))
    assert.deepEqual((await configOf('layered')).resolved, { ...TYPE_LAYER, ...resolved })
  }
})

test('a device shows its layers, its version, and on request the schema', async () => {
  await g.register('shown')
  await g.put('/groups/42/devices/shown')
  const group = await g.put('/groups/42/config/teebox', { key_keyless_state: 'keyless', gone: null })
  assert.deepEqual(group.body, {
    group_id: 42,
    device_type: 'teebox',
    config: { key_keyless_state: 'keyless' },
    devices: group.body.devices,
    published: group.body.published,
    warnings: [],
  })
  assert.ok(group.body.devices >= 1)
  const device = await g.put('/devices/shown/config', { beep: 3, realtime_enabled: false })
  const nowIso = new Date(clock.nowMs()).toISOString()
  const shown = {
    hardware_id: 'shown',
    device_type: 'teebox',
    group_id: 42,
    resolved: { beep: 3, key_keyless_state: 'keyless', realtime_enabled: false },
    layers: { type: TYPE_LAYER, group: { key_keyless_state: 'keyless' }, device: { beep: 3, realtime_enabled: false } },
    version: device.body.version,
    published_at: nowIso,
    applied_version: null,
    applied_at: null,
  }
  const warnings = [{ name: 'beep', code: 'unknown_key', detail: 'the device type has no setting with this key' }]
  assert.deepEqual(device.body, { ...shown, published: 1, warnings })
  assert.deepEqual(await configOf('shown'), shown)
  const { schema, ...others } = (await g.get('/devices/shown/config?schema=true')).body
  assert.deepEqual(others, shown)
  assert.deepEqual(schema, (await g.get('/device-types/teebox')).body.config_schema)
  const shortId = (await g.get('/devices/shown')).body.short_id
  assert.deepEqual((await g.get(`/devices/${shortId}/config`)).body, shown)

  const body = await ok(g.remove('/devices/shown/config'))
  assert.deepEqual(body.layers.device, {})
  assert.equal(body.published, 1)
})

test('the layers of a group are shown by type, cleared, and gone with the group', async () => {
  await g.post('/groups', { name: 'Layers', group_id: 77 })
  assert.deepEqual((await g.get('/groups/77/config')).body.config.teebox, {})
  await g.put('/groups/77/config/teebox', { key_keyless_state: 'keyless', beep: 1 })
  await g.put('/groups/77/config/cartcaddie', { realtime_enabled: false })
  const { group_id, config } = (await g.get('/groups/77/config')).body
  assert.equal(group_id, 77)
  assert.deepEqual(config.teebox, { key_keyless_state: 'keyless', beep: 1 })
  assert.deepEqual(config.cartcaddie, { realtime_enabled: false })
  assert.deepEqual((await g.get('/groups/77/config/teebox')).body, {
    group_id: 77,
    device_type: 'teebox',
    config: { key_keyless_state: 'keyless', beep: 1 },
    devices: 0,
    warnings: [{ name: 'beep', code: 'unknown_key', detail: 'the device type has no setting with this key' }],
  })
  const body = await ok(g.remove('/groups/77/config/teebox'))
  assert.deepEqual([body.config, body.published, body.warnings], [{}, 0, []])
  await ok(g.remove('/groups/77'))
  for (const start of ['before', 'after']) {
    await g.post('/groups', { name: start, group_id: 77 })
    assert.deepEqual((await g.get('/groups/77/config/cartcaddie')).body.config, {})
    await g.restart()
    await ok(g.remove('/groups/77'))
  }
})

test('layers are the same after a restart', async () => {
  await g.put('/groups/42/config/teebox', { key_keyless_state: 'keyless' })
  await g.put('/devices/cart-1/config', { beep: { on: null, notes: ['ü', 1.5] } })
  await g.put('/groups/42/devices/cart-1')
  const known = await configOf('cart-1')
  await g.restart()
  assert.deepEqual(await configOf('cart-1'), known)
})

test('a device that is registered again has no layer of its own', async () => {
  await g.register('again')
  await g.put('/devices/again/config', { beep: 1 })
  const { version } = await configOf('again')
  await g.remove('/devices/again')
  await g.register('again')
  const config = await configOf('again')
  assert.deepEqual([config.layers.device, config.resolved], [{}, TYPE_LAYER])
  assert.ok(config.version > version)
})
