import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fails, ok, scene } from '#testing/scene.ts'
import { startFor } from '#testing/start-gateway.ts'

const { g, onlyFor } = scene({ inScope: [] })
const NO_PARAMS = { type: 'object', properties: {} }
const ODD_SCHEMA = { ...NO_PARAMS, patternProperties: {} }
const command = (go: object) => ({ commands: { go } })

const RANGER = {
  description: 'Tracker of a ranger.',
  defaults: { interval_s: 10 },
  config_schema: {
    type: 'object',
    properties: { interval_s: { type: 'integer', minimum: 1, maximum: 600 }, beep: { type: 'boolean' } },
    required: ['interval_s'],
  },
  commands: { locate: { ttl_seconds: 120, params_schema: NO_PARAMS } },
}

onlyFor('staff', ['GET', '/device-types'], ['GET', '/device-types/nothing'])
onlyFor('admins', ['PUT', '/device-types/never', RANGER])

test('two types exist from the start; the list is sorted by name and equals the single responses', async () => {
  const body = await ok(g.get('/device-types'))
  const names = body.map(({ name }: { name: string }) => name)
  assert.deepEqual(names, names.toSorted())
  for (const name of ['cartcaddie', 'teebox']) assert.ok(names.includes(name))
  for (const type of body) assert.deepEqual((await g.get(`/device-types/${type.name}`)).body, type)
})

test('a type can be put back exactly as it is returned', async () => {
  for (const { name, ...type } of (await g.get('/device-types')).body)
    assert.deepEqual(await ok(g.put(`/device-types/${name}`, type)), { name, ...type, published: 0 })
})

test('an unknown type is 404 device_type_not_found', () =>
  fails(g.get('/device-types/nothing'), 404, 'device_type_not_found'))

test('a created type can have devices and survives a restart', async () => {
  const early = { hardware_id: 'ranger-0', device_type: 'ranger' }
  assert.equal((await g.post('/devices', early)).body.code, 'unknown_device_type')
  assert.deepEqual(await ok(g.put('/device-types/ranger', RANGER)), { name: 'ranger', ...RANGER, published: 0 })
  assert.deepEqual((await g.get('/device-types/ranger')).body, { name: 'ranger', ...RANGER })
  await g.register('ranger-1', 'ranger')
  await g.register('was-a-teebox')
  const changed = await g.put('/devices/was-a-teebox', { name: null, device_type: 'ranger', group_id: null })
  assert.equal(changed.body.device_type, 'ranger')
  assert.deepEqual((await g.get('/devices/was-a-teebox/config')).body.resolved, { interval_s: 10 })
  await g.restart()
  assert.deepEqual((await g.get('/device-types/ranger')).body, { name: 'ranger', ...RANGER })
  assert.equal((await g.get('/devices?device_type=ranger')).body.devices.length, 2)
})

test('a built-in type can be replaced as a whole, also across a restart', async (t) => {
  const own = await startFor(t)

  const replaced = { ...RANGER, description: '', commands: {} }
  const { description: _, ...given } = replaced
  await own.put('/device-types/teebox', given)
  for (let start = 0; start < 2; start++) {
    assert.deepEqual((await own.get('/device-types/teebox')).body, { name: 'teebox', ...replaced })
    await own.restart()
  }
})

for (const [what, change, name, code = 'invalid_field'] of [
  ['no defaults', { defaults: undefined }, 'defaults', 'missing_field'],
  ['no schema', { config_schema: undefined }, 'config_schema', 'missing_field'],
  ['no commands', { commands: undefined }, 'commands', 'missing_field'],
  ['defaults of the wrong type', { defaults: { interval_s: 'often' } }, 'defaults.interval_s'],
  ['defaults out of range', { defaults: { interval_s: 0 } }, 'defaults.interval_s'],
  ['a default that is null', { defaults: { interval_s: 1, beep: null } }, 'defaults.beep'],
  ['a default the schema does not know', { defaults: { interval_s: 1, x: 1 } }, 'defaults.x'],
  ['a required default missing', { defaults: {} }, 'defaults.interval_s'],
  ['defaults that are a list', { defaults: [] }, 'defaults'],
  ['a schema of another kind', { config_schema: { type: 'array' } }, 'config_schema.type'],
  ['a keyword not checked', { config_schema: ODD_SCHEMA }, 'config_schema.patternProperties', 'unknown_field'],
  ['a time to live of 0', command({ ttl_seconds: 0, params_schema: NO_PARAMS }), 'commands.go.ttl_seconds'],
  ['a time to live of 86401', command({ ttl_seconds: 86_401, params_schema: NO_PARAMS }), 'commands.go.ttl_seconds'],
  ['a command without a schema', command({ ttl_seconds: 1 }), 'commands.go.params_schema', 'missing_field'],
  ['a command with a space', { commands: { 'go on': RANGER.commands.locate } }, 'commands.go on'],
  ['a description of 501', { description: 'x'.repeat(501) }, 'description'],
  ['an unknown field', { colour: 'red' }, 'colour', 'unknown_field'],
] as [string, object, string, string?][])
  test(`PUT /device-types/:type with ${what} is 400 ${code} and creates nothing`, async () => {
    const { status, body } = await g.put('/device-types/refused', { ...RANGER, ...change })
    assert.deepEqual([status, body.code, body.errors[0].name], [400, code, name])
    assert.equal((await g.get('/device-types/refused')).status, 404)
  })

test('defaults over 8 KiB are 400 too_large', async () => {
  const body = {
    ...RANGER,
    defaults: { interval_s: 1, text: 'x'.repeat(8192) },
    config_schema: { type: 'object', properties: { interval_s: { type: 'integer' }, text: { type: 'string' } } },
  }
  await fails(g.put('/device-types/refused', body), 400, 'too_large')
})

test('a body over 64 KiB is 413', async () => {
  const body = { ...RANGER, description: 'x'.repeat(70_000) }
  assert.equal((await g.put('/device-types/refused', body)).status, 413)
})

for (const name of ['a%20b', 'a.b', 'x'.repeat(65), '%E2%98%83'])
  test(`a type cannot be called ${decodeURIComponent(name).slice(0, 10)}`, async () => {
    const { status, body } = await g.put(`/device-types/${name}`, RANGER)
    assert.deepEqual([status, body.errors[0].in, body.errors[0].name], [400, 'path', 'type'])
  })
