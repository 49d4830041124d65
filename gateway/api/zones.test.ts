import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { eventually } from '#shared/testing/eventually.ts'
import { circle, collection } from '#testing/course/features.ts'
import { fails, ok, pluck, publish, scene } from '#testing/scene.ts'
import { type Answer, startFor } from '#testing/start-gateway.ts'

const { g, clock, keys, onlyFor } = scene({ groups: [1, 2], inScope: ['cart-1'] })

beforeEach(async () => {
  await ok(put([]))
  for (const groupId of [1, 2]) await ok(putOwn(groupId, []))
})

/** Builds a circle, by default on the barn of the course. */
const zone = (id: string | undefined, options: Record<string, unknown> = {}) => ({
  ...circle(id ?? 'unnamed', options),
  id,
})

/** Builds a ring of `corners` corners around a place, every other one a few metres further in. */
function jagged(id: string, corners: number, type = 'stop', more: object = {}) {
  const ring = Array.from({ length: corners }, (_, i) => {
    const angle = (i / corners) * 2 * Math.PI
    const radius = i % 2 === 0 ? 0.001 : 0.00098
    return [-81.6 + radius * Math.cos(angle), 28.4 + radius * Math.sin(angle)]
  })
  const properties = { name: id, type, ...more }
  return { type: 'Feature', id, geometry: { type: 'Polygon', coordinates: [ring] }, properties }
}

function put(features: unknown[], ifMatch: string | null = '*', key?: string | null): Promise<Answer> {
  const headers: Record<string, string> = ifMatch === null ? {} : { 'if-match': ifMatch }
  return g.request('PUT', '/zones', { body: collection(...features), headers, ...(key === undefined ? {} : { key }) })
}

const putOwn = (groupId: number, features: unknown[]) => g.put(`/groups/${groupId}/geofences`, collection(...features))
const get = (headers: Record<string, string> = {}) => g.get('/zones', { headers })
const ids = (body: { features: { id: string }[] }) => body.features.map(({ id }) => id)
type Published = { v: number; z: { i: string; p?: number[] }[] }

/** Returns the zones that tee boxes of a group receive. */
async function published(groupId: number): Promise<Published> {
  const client = await g.program()
  const received: string[] = []
  client.on('message', (_, payload) => received.push(payload.toString()))
  await client.subscribeAsync(`sit/${groupId}/sz`, { qos: 1 })
  await eventually(() => received.length > 0, `the zones of group ${groupId}`)
  await client.endAsync()
  return JSON.parse(received[0] ?? '')
}

const publishedIds = async (groupId: number) => (await published(groupId)).z.map(({ i }) => i)

test('before the first change the list is empty, at version 0', async (t) => {
  const fresh = await startFor(t)

  const { status, body, headers } = await fresh.get('/zones')
  assert.deepEqual([status, body], [200, { type: 'FeatureCollection', version: 0, features: [] }])
  assert.match(headers.get('etag') ?? '', /^"0-[0-9a-f]{16}"$/)
  assert.deepEqual((await fresh.get('/zones/versions')).body, [])
})

onlyFor('any key', ['GET', '/zones'])
onlyFor('admins', ['PUT', '/zones', collection()], ['GET', '/zones/versions'], ['POST', '/zones/versions/1/restore'])

test('every role may read zones, and staff cannot change them', async () => {
  const staff = await g.createUser({ name: 'Staff', role: 'staff', allowed_hardware_ids: ['*'] })
  await put([zone('barn')])
  for (const key of [keys['in scope'], keys['no scope'], staff.key])
    assert.deepEqual(ids((await g.get('/zones', { key: key ?? null })).body), ['barn'])
  assert.equal((await put([], '*', staff.key)).body.code, 'admin_required')
})

test('stored zones are returned with all defaults and published to each group they apply to', async () => {
  const answer = await put([zone('barn'), zone('two', { type: 'slow', groups: [2, 2] })])
  assert.equal(answer.status, 200)
  const { version, ...rest } = answer.body
  const of = (groupId: number, bytes: number) => {
    return { group_id: groupId, topic: `sit/${groupId}/sz`, ok: true, simplified_m: 0, bytes }
  }
  const [one, two] = [await published(1), await published(2)]
  assert.deepEqual(rest, {
    success: true,
    count: 2,
    warnings: [],
    published: [of(1, JSON.stringify(one).length), of(2, JSON.stringify(two).length)],
  })
  assert.deepEqual([one.z.map(({ i }) => i), two.z.map(({ i }) => i)], [['barn'], ['barn', 'two']])
  const { body, headers } = await get()
  assert.equal(headers.get('etag'), answer.headers.get('etag'))
  assert.equal(body.version, version)
  const defaults = { enabled: true, visible: false, switched: null }
  assert.deepEqual(body.features, [circle('barn', defaults), circle('two', { type: 'slow', groups: [2], ...defaults })])
  // the body of GET can be put
  const again = await put(body.features, headers.get('etag'))
  assert.deepEqual([again.status, again.body.version], [200, version + 1])
  assert.deepEqual((await get()).body.features, body.features)
})

test('a group whose zones do not change receives no new publication', async () => {
  await put([zone('barn')])
  const before = await published(1)
  await put([zone('barn'), zone('two', { groups: [2] })])
  assert.deepEqual(await published(1), before)
  assert.deepEqual(await publishedIds(2), ['barn', 'two'])
})

test('If-Match is required, and the second of two editors gets an error', async () => {
  await fails(put([], null), 428, 'precondition_required')
  const etag = (await get()).headers.get('etag') ?? ''
  await ok(put([zone('first')], etag))
  for (const stale of [etag, `W/${etag}`, '"7-0"', 'nonsense', ''])
    await fails(put([zone('second')], stale), 412, 'zones_changed', stale)
  const now = (await get()).headers.get('etag') ?? ''
  // weak, as after compression, and next to other tags
  await ok(put([zone('second')], `"x", W/${now}`))
})

test('of ten concurrent changes to the same zones one is accepted', async () => {
  const etag = (await get()).headers.get('etag') ?? ''
  const answers = await Promise.all(Array.from({ length: 10 }, (_, i) => put([zone(`zone-${i}`)], etag)))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, ...Array(9).fill(412)])
  const winner = answers.findIndex(({ status }) => status === 200)
  assert.deepEqual(ids((await get()).body), [`zone-${winner}`])
  assert.deepEqual(await publishedIds(1), [`zone-${winner}`])
})

test('concurrent changes of the site and of a group end in the stored state', async () => {
  await Promise.all(
    Array.from({ length: 8 }, (_, i) => (i % 2 === 0 ? put([zone(`site-${i}`)]) : putOwn(1, [zone(`own-${i}`)]))),
  )
  const [site, own] = [(await get()).body, (await g.get('/groups/1/geofences')).body]
  const sent = await published(1)
  assert.deepEqual(pluck(sent.z, 'i'), [...ids(site), ...ids(own)])
  assert.equal(sent.v, own.version)
})

test('the list is 304 for a caller that has it', async () => {
  const etag = (await get()).headers.get('etag') ?? ''
  const { status, body } = await get({ 'if-none-match': etag })
  assert.deepEqual([status, body], [304, ''])
})

test("a group's own zones are added to those of the site, also in downloads for screens", async () => {
  await put([zone('barn'), zone('off', { enabled: false }), zone('two', { groups: [2] })])
  await putOwn(1, [zone('own', { type: 'stop' })])
  assert.deepEqual(await publishedIds(1), ['barn', 'own'])
  assert.deepEqual(await publishedIds(2), ['barn', 'two'])
  assert.deepEqual(ids((await g.get('/groups/1/geofences')).body), ['own'])
  const download = await g.get('/geofences/1/download')
  assert.deepEqual(ids(download.body), ['barn', 'off', 'own'])
  await put([zone('barn')])
  const later = await g.get('/geofences/1/download')
  assert.deepEqual(ids(later.body), ['barn', 'own'])
  assert.equal(later.body.version, (await published(1)).v)
  assert.notEqual(later.headers.get('etag'), download.headers.get('etag'))
})

test('an id belongs to the site or to one group', async () => {
  await putOwn(1, [zone('own')])
  const site = await put([zone('barn'), zone('own', { groups: [2] })])
  assert.deepEqual([site.status, site.body.code, site.body.errors[0].name], [400, 'duplicate_id', 'features[1].id'])
  await put([zone('barn')])
  await fails(putOwn(2, [zone('barn')]), 400, 'duplicate_id')
  await fails(put([zone('a'), zone('a')]), 400, 'duplicate_id')
  assert.deepEqual(ids((await get()).body), ['barn'])
})

test('generated ids are unused', async () => {
  await putOwn(1, [zone(undefined), zone(undefined)])
  await ok(put([zone(undefined), zone('g4'), zone(undefined)]))
  assert.deepEqual(ids((await get()).body), ['g3', 'g4', 'g5'])
  await ok(putOwn(2, [zone(undefined), zone(undefined)]))
  await ok(g.put('/geofences/77', collection(zone(undefined))))
  await g.remove('/geofences/77')
})

test('an unknown group is rejected; a deleted one stays named and has no effect', async () => {
  const unknown = await put([zone('a', { groups: [1, 99] })])
  assert.deepEqual(
    [unknown.status, unknown.body.code, unknown.body.errors[0].name],
    [400, 'unknown_group', 'features[0].properties.groups'],
  )
  for (const groups of [[], 'x', [0], ['1'], [1.5]])
    assert.equal((await put([zone('a', { groups })])).status, 400, JSON.stringify(groups))
  await g.post('/groups', { name: 'Gone', group_id: 3 })
  await ok(put([zone('a', { groups: [3] }), zone('b', { groups: null })]))
  const { version } = (await get()).body
  assert.deepEqual(await publishedIds(3), ['a', 'b'])
  await g.remove('/groups/3')
  assert.deepEqual(await publishedIds(3), [])
  const { body } = await get()
  assert.deepEqual(body.features[0].properties.groups, [3])
  // the body of GET can be put, also when a set is restored
  const again = await put(body.features)
  assert.deepEqual(again.body.warnings, [
    { code: 'group_gone', group_id: 3, zone_id: 'a', detail: 'zone a names group 3, which was deleted' },
  ])
  await put([])
  assert.equal((await put(body.features)).body.code, 'unknown_group')
  await ok(g.post(`/zones/versions/${version}/restore`))
  assert.deepEqual(ids((await get()).body), ['a', 'b'])
})

test('a new group has the zones of the site immediately, in addition to its own older ones', async () => {
  await put([zone('barn')])
  await g.put('/geofences/40', collection(zone('old')))
  assert.deepEqual(await publishedIds(40), ['old'])
  await g.post('/groups', { name: 'Forty', group_id: 40 })
  assert.deepEqual(await publishedIds(40), ['barn', 'old'])
  await g.post('/groups', { name: 'New', group_id: 41 })
  assert.deepEqual(await publishedIds(41), ['barn'])
  for (const groupId of [40, 41]) await g.remove(`/groups/${groupId}`)
})

test('500 zones of the site are accepted, and 501 are not', async () => {
  const many = (count: number) =>
    Array.from({ length: count }, (_, i) => zone(`z${i}`, { type: i % 2 === 0 ? 'hole' : 'boundary' }))
  assert.deepEqual((await ok(put(many(500)))).count, 500)
  await fails(put(many(501)), 400, 'too_many_zones')
})

test('a group has at most 100 zones for devices; holes, boundaries and disabled ones do not count', async () => {
  const many = (count: number, options: Record<string, unknown> = {}, name = 'z') =>
    Array.from({ length: count }, (_, i) => zone(`${name}${i}`, { type: 'stop', ...options }))
  const others = [...many(20, { type: 'hole' }, 'h'), zone('b', { type: 'boundary' }), zone('off', { enabled: false })]
  await ok(put([...many(100), ...others]))
  for (const answer of [await put(many(101)), await putOwn(1, [zone('own')])])
    assert.deepEqual([answer.status, answer.body.code], [400, 'too_many_zones'])
  await ok(putOwn(1, [zone('own', { type: 'hole' })]))
  // zones of another group do not count either
  const apart = [...many(90, { groups: [1] }, 'one'), ...many(90, { groups: [2] }, 'two')]
  await ok(put([...apart, ...many(10)]))
  assert.equal((await put([...apart, ...many(11)])).body.code, 'too_many_zones')
  await ok(put([...apart, ...many(9)]))
  await ok(putOwn(1, [zone('own')]))
  assert.equal((await putOwn(1, [zone('own'), zone('own2')])).body.code, 'too_many_zones')
})

test('zones over 16 KiB lose corners, and the response reports how far their edges moved', async () => {
  const course = Array.from({ length: 60 }, (_, i) => jagged(`z${i}`, 120))
  const body = await ok(put(course))
  const [first] = body.published
  assert.ok(first.simplified_m > 0 && first.simplified_m < 15, `${first.simplified_m} m`)
  const sent = await published(1)
  assert.equal(JSON.stringify(sent).length, first.bytes)
  assert.ok(first.bytes <= 16_384 && first.bytes > 8_000, `${first.bytes} bytes`)
  assert.equal(sent.z.length, 60)
  for (const { p } of sent.z) assert.ok((p?.length ?? 0) >= 6)
  // people and rules keep the zone as drawn
  assert.equal((await get()).body.features[0].geometry.coordinates[0].length, 121)
  assert.deepEqual(
    pluck(body.warnings, 'code', 'group_id'),
    first.simplified_m >= 5 ? [1, 2].map((groupId) => ['simplified', groupId]) : [],
  )
})

test("a group's own zones may cost the site's zones corners, which the response reports", async () => {
  const half = (name: string) => Array.from({ length: 8 }, (_, i) => jagged(`${name}${i}`, 60))
  assert.equal((await put(half('site'))).body.published[0].simplified_m, 0)
  assert.ok((await ok(putOwn(1, half('own')))).published.teebox.simplified_m > 0)
  assert.ok(JSON.stringify(await published(1)).length <= 16_384)
  assert.equal((await published(2)).z[0]?.p?.length, 120)
})

test('zones that cannot be made to fit are rejected, also for groups with zones of their own', async () => {
  const long = (i: number) => `${'界'.repeat(60)}-${i}`
  const most = Array.from({ length: 75 }, (_, i) => jagged(long(i), 5))
  await fails(put(most), 400, 'too_large')
  await ok(put(most.slice(0, 50)))
  await fails(putOwn(1, most.slice(50)), 400, 'too_large')
})

test('invalid and hostile bodies change nothing', async () => {
  await put([zone('barn')])
  const bad: [unknown, number, string][] = [
    ['{', 400, 'invalid_json'],
    ['7', 400, 'invalid_body'],
    ['[]', 400, 'invalid_field'],
    [{}, 400, 'invalid_field'],
    [{ type: 'Feature' }, 400, 'missing_field'],
    [collection(zone('a', { type: 'lake' })), 400, 'invalid_field'],
    [collection(jagged('bow', 2)), 400, 'too_few_points'],
    [collection(jagged('round', 201)), 400, 'too_many_points'],
    [collection(zone('a', { at: [-81.6, 91] })), 400, 'invalid_position'],
    [JSON.stringify(collection()) + ' '.repeat(1_048_576), 413, 'payload_too_large'],
  ]
  for (const [body, status, code] of bad)
    await fails(g.put('/zones', body, { headers: { 'if-match': '*' } }), status, code, String(body).slice(0, 40))
  const text = await g.put('/zones', '{}', { headers: { 'if-match': '*', 'content-type': 'text/plain' } })
  assert.equal(text.status, 415)
  assert.deepEqual(ids((await get()).body), ['barn'])
})

test('the last 20 sets are stored with user and time, and are restored as a new version', async () => {
  const { user } = (await g.get('/me')).body
  clock.advance(60_000)
  for (let i = 0; i < 21; i++) await put([zone(`n${i}`), zone('x')])
  const versions = (await g.get('/zones/versions')).body
  const { version } = (await get()).body
  assert.deepEqual(
    pluck(versions, 'version'),
    Array.from({ length: 20 }, (_, i) => version - i),
  )
  assert.deepEqual(versions[0], {
    version,
    at: new Date(clock.nowMs()).toISOString(),
    count: 2,
    by: { user_id: user.user_id, name: user.name },
  })
  const oldest = versions[19].version
  const restored = await g.post(`/zones/versions/${oldest}/restore`)
  assert.deepEqual([restored.status, restored.body.version, restored.body.count], [200, version + 1, 2])
  assert.deepEqual(ids((await get()).body), ['n1', 'x'])
  assert.deepEqual(await publishedIds(1), ['n1', 'x'])
  assert.equal((await g.get('/zones/versions')).body.length, 20)
  for (const [path, status, code] of [
    // dropped to make room for the new one
    [String(oldest), 404, 'version_not_found'],
    ['999999', 404, 'version_not_found'],
    ['x', 400, 'invalid_number'],
  ] as const)
    await fails(g.post(`/zones/versions/${path}/restore`), status, code)
})

test('the If-Match of a restore must match', async () => {
  await put([zone('barn')])
  const { version } = (await get()).body
  await put([])
  const restore = (headers: Record<string, string>) =>
    g.post(`/zones/versions/${version}/restore`, undefined, { headers })
  assert.deepEqual((await restore({ 'if-match': '"1-x"' })).body.code, 'zones_changed')
  const etag = (await get()).headers.get('etag') ?? ''
  await ok(restore({ 'if-match': etag }))
})

test('a set with an id that a group now uses cannot be restored', async () => {
  await put([zone('barn')])
  const { version } = (await get()).body
  await put([])
  await putOwn(1, [zone('barn')])
  await fails(g.post(`/zones/versions/${version}/restore`), 400, 'duplicate_id')
})

test('every open socket is notified of a change, whatever its user', async () => {
  const sockets = [await g.realtime(), await g.realtime(keys['no scope'] ?? '')]
  const { version } = (await put([zone('barn')])).body
  for (const socket of sockets) assert.deepEqual(await socket.next('zones_changed'), { type: 'zones_changed', version })
  // a rejected change sends no message
  await put([zone('other')], '"stale"')
  for (const socket of sockets) assert.ok((await socket.flush()).every(({ type }) => type !== 'zones_changed'))
})

test('the audit log has the user and the zones of a change', async () => {
  await put([zone('barn'), zone('path', { type: 'stop' })])
  await put([zone('barn'), zone('path', { type: 'slow' })])
  const { entries } = (await g.get('/audit-log?action=zones.updated&limit=1')).body
  const [entry] = entries
  assert.equal(entry.target, 'site')
  const of = (side: { zones: { id: string; properties: { type: string } }[] }) =>
    side.zones.map(({ id, properties }) => [id, properties.type])
  assert.deepEqual([of(entry.before), of(entry.after)], [[['path', 'stop']], [['path', 'slow']]])
})

test('an erasure removes the name of the author of a set', async () => {
  const jo = await g.createUser({ name: 'Jo Greene', role: 'admin' })
  await put([zone('barn')], '*', jo.key)
  const by = async () => (await g.get('/zones/versions')).body[0].by
  assert.deepEqual(await by(), { user_id: jo.userId, name: 'Jo Greene' })
  await ok(g.post('/erasures', { person: 'jo greene' }))
  assert.deepEqual(await by(), { user_id: jo.userId, name: '' })
})

test('a restart changes nothing and publishes nothing', async () => {
  await put([zone('barn'), zone('two', { groups: [2] })])
  await putOwn(2, [zone('own')])
  const before = [await get(), await published(1), await published(2), await g.get('/zones/versions')]
  await g.restart()
  const after = [await get(), await published(1), await published(2), await g.get('/zones/versions')]
  // responses, and published messages
  const shown = (parts: unknown[]) => parts.map((part) => (part as { body?: unknown }).body ?? part)
  assert.deepEqual(shown(after), shown(before))
  await ok(put([zone('barn')]))
})

test('events are raised for the zones that apply to a device, with a group or without', async () => {
  const at = (east: number): [number, number] => [0.1 + east / 111_320, 0.1]
  await put([zone('all', { type: 'stop', at: at(0) }), zone('only-two', { type: 'stop', at: at(0), groups: [2] })])
  await putOwn(1, [zone('own-one', { type: 'stop', at: at(0) })])
  const published: Record<string, unknown[]> = {}
  for (const [hardwareId, groupId] of Object.entries({ single: null, 'in-one': 1, 'in-two': 2 })) {
    const client = await g.device(hardwareId)
    if (groupId !== null) await g.put(`/groups/${groupId}/devices/${hardwareId}`)
    const watcher = await g.realtime()
    await watcher.subscribe(hardwareId)
    for (const east of [-200, -100, 0, 1]) {
      clock.advance(60_000)
      const [long, lat] = at(east)
      await publish(client, `dev/${hardwareId}/tlm`, { ts: clock.nowMs(), lat, long })
    }
    const pushed = (await watcher.flush()).filter(({ type }) => type === 'geofence_enter')
    const { events } = (await g.get(`/geofence-events?hardware_id=${hardwareId}`)).body
    const named = (id: string, group: number | null) => `${id} ${group}`
    published[hardwareId] = events
      .map((event: { zone_id: string; group_id: number | null }) => named(event.zone_id, event.group_id))
      .sort()
    assert.deepEqual(pushed.map(({ zoneId, groupId: of }) => named(zoneId, of)).sort(), published[hardwareId])
  }
  assert.deepEqual(published, {
    single: ['all null'],
    'in-one': ['all null', 'own-one 1'],
    'in-two': ['all null', 'only-two null'],
  })
  const { events } = (await g.get('/geofence-events?group_id=1')).body
  assert.deepEqual(pluck(events, 'zone_id'), ['own-one'])
})
