import assert from 'node:assert/strict'
import { test } from 'node:test'
import { box, circle, collection as zones } from '#testing/course/features.ts'
import { fails, ok, scene } from '#testing/scene.ts'
import { type Answer, startGateway } from '#testing/start-gateway.ts'

const { g, onlyFor } = scene({ inScope: [] })
let unusedId = 1000

const GREEN = {
  type: 'Feature',
  id: 'green-7',
  geometry: { type: 'Polygon', coordinates: [box(-81.58, 28.41, -81.57, 28.42)] },
  properties: { name: 'Green 7', type: 'stop', enabled: true, visible: false },
}
const BARN = circle('barn', { name: 'Barn', enabled: true, visible: true })

async function createGroup(groupId = ++unusedId): Promise<number> {
  await ok(g.post('/groups', { name: 'Group', group_id: groupId }), 201)
  return groupId
}

const put = (path: string, body: unknown = zones(GREEN)): Promise<Answer> => g.put(path, body)
const stored = async (path: string): Promise<{ version: number; features: unknown[] }> => ok(g.get(path))

const ROUTES: [method: string, path: string, unknownId: number][] = [
  ['GET', '/groups/ID/geofences', 404],
  ['PUT', '/groups/ID/geofences', 404],
  ['GET', '/geofences/ID', 404],
  ['PUT', '/geofences/ID', 200],
  ['DELETE', '/geofences/ID', 404],
]

for (const [method, path, unknownId] of ROUTES) {
  const options = { body: method === 'PUT' ? zones() : undefined }
  const role = method === 'GET' && path.startsWith('/groups') ? 'staff' : 'admins'
  onlyFor(role, [method, path.replace('ID', '999999'), options.body])
  for (const id of ['0', '-1', '1.5', 'abc', '9007199254740992', '1e2', '%20'])
    test(`${method} ${path}: the id ${id} is 400 invalid_number`, async () => {
      const body = await fails(g.request(method, path.replace('ID', id), options), 400, 'invalid_number')
      assert.equal(body.errors[0].in, 'path')
    })

  test(`${method} ${path} with neither group nor zones is ${unknownId}`, async () => {
    const answer = await g.request(method, path.replace('ID', String(++unusedId)), options)
    assert.equal(answer.status, unknownId)
    if (unknownId === 404) assert.equal(answer.body.code, 'group_not_found')
  })

  test(`${method} ${path} ${path.startsWith('/groups') ? 'is not deprecated' : 'names its successor'}`, async () => {
    const groupId = await createGroup()
    const isOld = path.startsWith('/geofences')
    const { headers } = await g.request(method, path.replace('ID', String(groupId)), options)
    assert.equal(headers.get('deprecation'), isOld ? '@1767225600' : null)
    assert.equal(headers.get('link'), isOld ? `</groups/${groupId}/geofences>; rel="successor-version"` : null)
  })
}

test('stored zones are returned unchanged, with a growing version', async () => {
  const id = await createGroup()
  assert.deepEqual(await stored(`/groups/${id}/geofences`), { ...zones(), group_id: id, version: 0 })
  const body = await ok(put(`/groups/${id}/geofences`, zones(GREEN, BARN)))
  assert.deepEqual(body, {
    success: true,
    group_id: id,
    version: 1,
    count: 2,
    published: { teebox: { topic: `sit/${id}/sz`, ok: true } },
    fetch_required: [],
  })
  assert.deepEqual(await stored(`/groups/${id}/geofences`), { ...zones(GREEN, BARN), group_id: id, version: 1 })
  assert.equal((await g.get(`/groups/${id}`)).body.geofence_version, 1)
  assert.equal((await put(`/groups/${id}/geofences`, zones(BARN))).body.version, 2)
  assert.deepEqual((await stored(`/groups/${id}/geofences`)).features, [BARN])
  assert.equal((await put(`/groups/${id}/geofences`, zones())).body.count, 0)
  assert.deepEqual(await stored(`/groups/${id}/geofences`), { ...zones(), group_id: id, version: 3 })
})

test('fetch_required lists the cartcaddies of the group', async () => {
  const id = await createGroup()
  for (const [hardwareId, deviceType, groupId] of [
    ['screen-b', 'cartcaddie', id],
    ['lock-a', 'teebox', id],
    ['screen-a', 'cartcaddie', id],
    ['screen-elsewhere', 'cartcaddie', await createGroup()],
    ['screen-nowhere', 'cartcaddie', null],
  ] as const)
    await ok(g.post('/devices', { hardware_id: hardwareId, device_type: deviceType, group_id: groupId }), 201)
  assert.deepEqual((await put(`/groups/${id}/geofences`)).body.fetch_required, ['screen-a', 'screen-b'])
  assert.deepEqual((await g.remove(`/geofences/${id}`)).body.fetch_required, ['screen-a', 'screen-b'])
})

test('fetch_required lists custom types that accept fetch_geofences, also after a restart', async () => {
  const id = await createGroup()
  const command = { ttl_seconds: 60, params_schema: { type: 'object', properties: {} } }
  for (const [type, commands] of Object.entries({ pager: {}, tablet: { fetch_geofences: command } })) {
    const body = { defaults: {}, config_schema: { type: 'object', properties: {} }, commands }
    await ok(g.put(`/device-types/${type}`, body))
    await ok(g.post('/devices', { hardware_id: `${type}-1`, device_type: type, group_id: id }), 201)
  }
  const fetchers = async () => (await put(`/groups/${id}/geofences`)).body.fetch_required
  assert.deepEqual(await fetchers(), ['tablet-1'])
  await g.restart()
  assert.deepEqual(await fetchers(), ['tablet-1'])
})

test('the deprecated paths show and change the same zones', async () => {
  const id = await createGroup()
  assert.equal((await put(`/geofences/${id}`, zones(GREEN))).body.version, 1)
  assert.deepEqual((await stored(`/groups/${id}/geofences`)).features, [GREEN])
  await put(`/groups/${id}/geofences`, zones(BARN))
  const expected = { ...zones(BARN), group_id: id, version: 2, device_group_id: id }
  assert.deepEqual(await stored(`/geofences/${id}`), expected)
  const deleted = await g.remove(`/geofences/${id}`)
  assert.deepEqual([deleted.status, deleted.body.version, deleted.body.count], [200, 3, 0])
  assert.deepEqual(await stored(`/geofences/${id}`), { ...expected, features: [], version: 3 })
})

test('zones without a group are gone once deleted; their version does not restart', async () => {
  const id = ++unusedId
  assert.equal((await put(`/geofences/${id}`)).body.version, 1)
  assert.equal((await g.get(`/groups/${id}/geofences`)).status, 404)
  assert.deepEqual((await stored(`/geofences/${id}`)).features, [GREEN])
  await ok(g.remove(`/geofences/${id}`))
  assert.equal((await g.get(`/geofences/${id}`)).status, 404)
  assert.equal((await g.remove(`/geofences/${id}`)).status, 404)
  assert.equal((await put(`/geofences/${id}`)).body.version, 3)
})

test('a group takes over the zones under its id, and its deletion deletes them', async () => {
  const id = ++unusedId
  await put(`/geofences/${id}`, zones(BARN))
  const made = await g.post('/groups', { name: 'Adopts', group_id: id })
  assert.deepEqual([made.status, made.body.geofence_version], [201, 1])
  assert.deepEqual((await stored(`/groups/${id}/geofences`)).features, [BARN])
  await ok(g.remove(`/groups/${id}`))
  assert.equal((await g.get(`/geofences/${id}`)).status, 404)
  await createGroup(id)
  assert.deepEqual(await stored(`/groups/${id}/geofences`), { ...zones(), group_id: id, version: 2 })
})

test('a group without an id gets one that no zones have ever had', async () => {
  const id = unusedId + 5000
  await put(`/geofences/${id}`)
  await g.remove(`/geofences/${id}`)
  assert.equal((await g.post('/groups', { name: 'Next' })).body.group_id, id + 1)
  unusedId = id + 1
})

const ring = (points: unknown[], more: object = {}) => ({
  ...GREEN,
  geometry: { type: 'Polygon', coordinates: [points] },
  ...more,
})

const manyPoints = (count: number): number[][] =>
  Array.from({ length: count }, (_, i) => {
    const angle = (i / count) * 2 * Math.PI
    return [0.01 * Math.cos(angle), 0.01 * Math.sin(angle)]
  })

const unnamed = (count: number, feature: object = BARN) =>
  Array.from({ length: count }, () => ({ ...feature, id: undefined }))

const point = (...coordinates: unknown[]) => zones({ ...BARN, geometry: { type: 'Point', coordinates } })
const line = (...numbers: number[]) => ring(numbers.flatMap((long, i) => (i % 2 === 0 ? [[long, numbers[i + 1]]] : [])))
const [AT, GEOMETRY] = ['features[0].geometry.coordinates', 'features[0].geometry']
const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
const hole = { type: 'Polygon', coordinates: [manyPoints(9), manyPoints(5)] }

for (const [what, code, place, body] of [
  ['no object', 'invalid_body', undefined, '7'],
  ['an empty list', 'invalid_field', 'body', '[]'],
  ['no JSON', 'invalid_json', undefined, '{"type":"FeatureCollection",'],
  ['NaN, which is not JSON', 'invalid_json', undefined, JSON.stringify(zones(BARN)).replace('28.4', 'NaN')],
  ['no features', 'missing_field', 'features', { type: 'FeatureCollection' }],
  ['another type', 'invalid_field', 'type', { ...zones(), type: 'Topology' }],
  ['a number as text', 'invalid_field', `${AT}[1]`, point(1, 'NaN')],
  ['an infinite number', 'invalid_field', `${AT}[0]`, JSON.stringify(zones(BARN)).replace('-81.6', '1e999')],
  ['a huge number', 'invalid_position', AT, point(1e300, 0)],
  ['latitude before longitude', 'invalid_position', `${AT}[0][0]`, zones(line(28, -100, 29, -100, 29, -101))],
  [
    'a ring that crosses itself',
    'self_crossing',
    'features[1].geometry.coordinates[0][0]',
    zones(BARN, line(0, 0, 0.01, 0.01, 0.01, 0, 0, 0.01)),
  ],
  ['two points', 'too_few_points', `${AT}[0][0]`, zones(line(0, 0, 1, 1))],
  ['201 points', 'too_many_points', `${AT}[0]`, zones(ring(manyPoints(201)))],
  ['a hole', 'holes_not_supported', AT, zones({ ...GREEN, geometry: hole })],
  [
    'a MultiPolygon',
    'unsupported_geometry',
    `${GEOMETRY}.type`,
    zones({ ...GREEN, geometry: { type: 'MultiPolygon', coordinates: [] } }),
  ],
  ['an id twice', 'duplicate_id', 'features[1].id', zones(BARN, BARN)],
  ['101 zones', 'too_many_zones', 'features', zones(...unnamed(101))],
  ['more than teeboxes can be sent', 'too_large', 'features', zones(...unnamed(20, ring(manyPoints(100))))],
  [
    'a circle without a radius',
    'missing_field',
    'features[0].properties.radius_m',
    zones({ ...BARN, properties: { name: 'Barn', type: 'parking' } }),
  ],
  [
    'an unknown type of zone',
    'invalid_field',
    'features[0].properties.type',
    zones({ ...BARN, properties: { ...BARN.properties, type: 'lava' } }),
  ],
  ['features nested 100,000 deep', 'invalid_body', undefined, `{"type":"FeatureCollection","features":[${deep}]}`],
] as [string, string, string | undefined, unknown][])
  test(`${what}: 400 ${code} and nothing is stored`, async () => {
    for (const path of [`/groups/${await createGroup()}/geofences`, `/geofences/${unusedId}`]) {
      const { errors } = await fails(put(path, body), 400, code)
      if (place !== undefined) assert.equal(errors[0].name, place)
      const { version, features } = await stored(path)
      assert.deepEqual([version, features], [0, []])
    }
  })

test('unknown members are ignored, whatever they contain', async () => {
  const id = await createGroup()
  const deep = `${'['.repeat(28)}${']'.repeat(28)}`
  const body = JSON.stringify(zones(BARN)).replace('"type":"Feature"', `"type":"Feature","bbox":${deep}`)
  await ok(put(`/groups/${id}/geofences`, body))
  assert.deepEqual((await stored(`/groups/${id}/geofences`)).features, [BARN])
})

test('a body of 1 MiB is read, one byte more is 413; another content type is 415', async () => {
  const path = `/groups/${await createGroup()}/geofences`
  const text = JSON.stringify({ ...zones(BARN), pad: '' })
  const padded = (bytes: number) => text.replace('"pad":""', `"pad":"${'x'.repeat(bytes - text.length)}"`)
  await fails(put(path, padded(1_048_577)), 413, 'payload_too_large')
  assert.equal((await stored(path)).version, 0)
  await ok(put(path, padded(1_048_576)))
  assert.equal((await g.put(path, text, { headers: { 'content-type': 'text/plain' } })).status, 415)
})

test('a megabyte of nonsense gets one short response', async () => {
  const path = `/groups/${await createGroup()}/geofences`
  for (const features of [Array(300_000).fill(0), Array(100).fill({}), unnamed(100, ring(Array(201).fill('x')))]) {
    const answer = await put(path, { ...zones(), features })
    assert.equal(answer.status, 400)
    assert.ok((answer.body.errors ?? []).length <= 100)
  }
})

test('sets put concurrently are stored one after the other, each with its own version', async () => {
  const id = await createGroup()
  const named = (i: number) => ({ ...BARN, properties: { ...BARN.properties, name: `Barn ${i}` } })
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      put(i % 2 === 0 ? `/groups/${id}/geofences` : `/geofences/${id}`, zones(named(i))),
    ),
  )
  const versions = answers.map(({ body }) => body.version)
  assert.deepEqual(
    versions.toSorted((a, b) => a - b),
    Array.from({ length: 20 }, (_, i) => i + 1),
  )
  const last = versions.indexOf(20)
  assert.deepEqual((await stored(`/groups/${id}/geofences`)).features, [named(last)])
})

test('a set put while its group is deleted is rejected, or deleted with it', async () => {
  const id = await createGroup()
  const path = `/groups/${id}/geofences`
  const [first, deleted, late] = await Promise.all([put(path), g.remove(`/groups/${id}`), put(path)])
  assert.equal(deleted.status, 200)
  for (const { status } of [first, late]) assert.ok(status === 200 || status === 404)
  assert.equal((await g.get(`/geofences/${id}`)).status, 404)
})

test('zones survive a restart', async () => {
  const id = await createGroup()
  await put(`/groups/${id}/geofences`, zones(GREEN, BARN))
  const known = await stored(`/geofences/${id}`)
  await g.restart()
  assert.deepEqual(await stored(`/geofences/${id}`), known)
  assert.equal((await put(`/groups/${id}/geofences`)).body.version, 2)
})

test('with a closed store a set is 503 and none of its zones is visible', async () => {
  const own = await startGateway()
  await own.post('/groups', { name: 'Group', group_id: 1 })
  await own.stop()
  await fails(own.put('/groups/1/geofences', zones(BARN)), 503, 'store_unavailable')
  assert.deepEqual((await own.get('/groups/1/geofences')).body.features, [])
})
