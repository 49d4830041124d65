import assert from 'node:assert/strict'
import { before, beforeEach, describe, test } from 'node:test'
import type { MqttClient } from 'mqtt'
import { eventually } from '#shared/testing/eventually.ts'
import { HOUR_MS, MINUTE_MS, toIso } from '#shared/time.ts'
import { circle, collection } from '#testing/course/features.ts'
import { fails, ok, publish, scene } from '#testing/scene.ts'
import type { Answer } from '#testing/start-gateway.ts'

const { g, clock, onlyFor } = scene({ overrides: { tickMs: 20 }, groups: [1, 2], inScope: ['cart-1'] })
let staff: { userId: string; key: string }

before(async () => {
  staff = await g.createUser({ name: 'Jo', role: 'staff', allowed_hardware_ids: ['*'] })
})
beforeEach(async () => {
  await put([])
  await put([
    zone('path-3', { type: 'stop', hole: 3, enabled: false }),
    zone('green-3', { type: 'alert', hole: 3 }),
    zone('hole-3', { type: 'hole', hole: 3 }),
    zone('path-7', { type: 'stop', hole: 7, enabled: false, groups: [2] }),
  ])
})

const zone = (id: string, properties: Record<string, unknown> = {}) => circle(id, { type: 'stop', ...properties })
type FeatureJson = { id: string; properties: Record<string, unknown> }

async function put(features: unknown[]): Promise<Answer> {
  const answer = await g.put('/zones', collection(...features), { headers: { 'if-match': '*' } })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer
}

const ask = (body: unknown, key: string | null = staff.key) => g.post('/zones/switch', body, { key })
const toggle = async (body: object): Promise<{ version: number; switched: string[]; until: string | null }> =>
  ok(ask(body))
const features = async (): Promise<FeatureJson[]> => (await g.get('/zones')).body.features

async function find(id: string): Promise<FeatureJson['properties']> {
  const found = (await features()).find((feature) => feature.id === id)
  assert.ok(found !== undefined, id)
  return found.properties
}

const isEnabled = async (id: string) => (await find(id)).enabled
const inMs = (ms: number) => toIso(clock.nowMs() + ms)
const becomes = (id: string, wanted: boolean) =>
  eventually(async () => (await isEnabled(id)) === wanted, `${id} is ${wanted ? 'on' : 'off'}`)

/** Returns the ids of the zones that tee boxes of a group receive. */
async function published(groupId: number): Promise<string[]> {
  const client = await g.program()
  const received: string[] = []
  client.on('message', (_, payload) => received.push(payload.toString()))
  await client.subscribeAsync(`sit/${groupId}/sz`, { qos: 1 })
  await eventually(() => received.length > 0, `the zones of group ${groupId}`)
  await client.endAsync()
  return JSON.parse(received[0] ?? '').z.map(({ i }: { i: string }) => i)
}

onlyFor('staff', ['POST', '/zones/switch', { holes: [3], enabled: true }], ['GET', '/zones/applied'])

const BAD: Record<string, [body: unknown, status: number, code: string]> = {
  'no selection': [{ enabled: true }, 400, 'invalid_field'],
  'two selections': [{ holes: [3], types: ['stop'], enabled: true }, 400, 'invalid_field'],
  'nothing in it': [{ holes: [], enabled: true }, 400, 'invalid_field'],
  'an unknown type': [{ types: ['lake'], enabled: true }, 400, 'invalid_field'],
  'no word whether on or off': [{ holes: [3] }, 400, 'missing_field'],
  'an unknown field': [{ holes: [3], enabled: true, why: 'rain' }, 400, 'unknown_field'],
  'an unknown zone': [{ zone_ids: ['path-3', 'nowhere'], enabled: true }, 404, 'zone_not_found'],
  'a time that is past': [{ holes: [3], enabled: true, until: '2020-01-01T00:00:00Z' }, 400, 'invalid_field'],
  'an invalid time': [{ holes: [3], enabled: true, until: 'tonight' }, 400, 'invalid_date'],
}
for (const [what, [body, status, code]] of Object.entries(BAD))
  test(`an override with ${what} is ${status} ${code} and changes nothing`, async () => {
    const before = await g.get('/zones')
    await fails(ask(body), status, code)
    assert.equal((await g.get('/zones')).headers.get('etag'), before.headers.get('etag'))
  })

test('an override of holes enables their zones until the end of the day if no hours are set', async () => {
  const before = await g.get('/zones')
  const watcher = await g.realtime(staff.key)
  const { version, switched, until } = await toggle({ holes: [3, 7, 18], enabled: true })
  assert.deepEqual(switched, ['path-3', 'green-3', 'path-7'])
  assert.equal(version, before.body.version + 1)
  assert.equal(until, `${toIso(clock.nowMs() + 24 * HOUR_MS).slice(0, 10)}T00:00:00.000Z`)
  const by = { user_id: staff.userId, name: 'Jo' }
  const { enabled, switched: is, enabled_before, switched_at } = await find('path-3')
  assert.deepEqual([enabled, is, enabled_before, switched_at], [true, { until, by }, false, inMs(0)])
  assert.deepEqual((await find('hole-3')).switched, null)
  const now = await g.get('/zones')
  assert.deepEqual([now.body.version, now.headers.get('etag') !== before.headers.get('etag')], [version, true])
  assert.deepEqual(
    [await published(1), await published(2)],
    [
      ['path-3', 'green-3'],
      ['path-3', 'green-3', 'path-7'],
    ],
  )
  const messages = (await watcher.flush()).filter(({ type }) => type === 'zones_changed')
  assert.deepEqual(messages, [{ type: 'zones_changed', version }])
})

test('an override ends at closing time if hours are set', async () => {
  const everyDay = Object.fromEntries(
    ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'].map((day) => [day, ['07:00', '20:00']]),
  )
  await ok(g.patch('/site', { opening_hours: everyDay }))
  assert.match((await toggle({ types: ['stop'], enabled: true })).until ?? '', /T20:00:00\.000Z$/)
  await g.patch('/site', { opening_hours: null })
})

test('an override that names no zone of the site changes nothing', async () => {
  const { body } = await g.get('/zones')
  const answer = await toggle({ holes: [18], enabled: true })
  assert.deepEqual([answer.version, answer.switched], [body.version, []])
})

test('an override ends at its time with the state of each zone before the first of several', async () => {
  await toggle({ zone_ids: ['path-3', 'green-3'], enabled: true, until: inMs(MINUTE_MS) })
  await toggle({ zone_ids: ['green-3'], enabled: false, until: inMs(HOUR_MS) })
  await toggle({ zone_ids: ['path-3'], enabled: true, until: inMs(HOUR_MS) })
  clock.advance(MINUTE_MS + 1)
  assert.deepEqual([await isEnabled('path-3'), await isEnabled('green-3')], [true, false])
  clock.advance(HOUR_MS)
  await becomes('path-3', false)
  await becomes('green-3', true)
  assert.deepEqual([(await find('path-3')).switched, 'enabled_before' in (await find('path-3'))], [null, false])
  assert.deepEqual(await published(1), ['green-3'])
  const { entries } = (await g.get('/audit-log?action=zones.switched')).body
  const [undone, ...asked] = entries.slice(0, 4)
  assert.deepEqual(
    [undone.user_id, asked.map((entry: { user_id: string }) => entry.user_id)],
    [null, [staff.userId, staff.userId, staff.userId]],
  )
  assert.deepEqual(undone.after.zones, [
    { id: 'path-3', enabled: false, until: null },
    { id: 'green-3', enabled: true, until: null },
  ])
})

test('an override until null stays until the next override', async () => {
  assert.equal((await toggle({ zone_ids: ['path-3'], enabled: true, until: null })).until, null)
  clock.advance(1000 * HOUR_MS)
  assert.equal((await find('path-3')).enabled, true)
  await toggle({ zone_ids: ['path-3'], enabled: false, until: inMs(1000) })
  clock.advance(1001)
  await eventually(async () => (await find('path-3')).switched === null, 'it is switched no more')
  assert.equal(await isEnabled('path-3'), false)
})

test('an override creates no stored version, and zones put meanwhile keep their drawn state', async () => {
  const versions = async () => (await g.get('/zones/versions')).body
  const before = await versions()
  await toggle({ holes: [3], enabled: true, until: inMs(MINUTE_MS) })
  assert.deepEqual(await versions(), before)
  // puts the read zones with one added: overrides stay unchanged
  const { body } = await put([...(await features()), zone('new')])
  assert.notEqual((await find('path-3')).switched, null)
  await put([])
  await ok(g.post(`/zones/versions/${body.version}/restore`))
  assert.deepEqual([await isEnabled('path-3'), (await find('path-3')).switched], [false, null])
})

test('a PUT ends the overrides of the zones it changes, and of no others', async () => {
  await toggle({ types: ['stop'], enabled: true, until: inMs(MINUTE_MS) })
  const moved = (await features()).map((feature) =>
    feature.id === 'path-3' ? { ...feature, geometry: { type: 'Point', coordinates: [-81.7, 28.4] } } : feature,
  )
  await put(moved)
  assert.deepEqual([(await find('path-3')).switched, await isEnabled('path-3')], [null, true])
  assert.notEqual((await find('path-7')).switched, null)
  clock.advance(MINUTE_MS + 1)
  await becomes('path-7', false)
  assert.equal(await isEnabled('path-3'), true)
})

test('a restore brings zones back as drawn and ends their overrides', async () => {
  const [{ version }] = (await g.get('/zones/versions')).body
  await toggle({ holes: [3], enabled: true, until: inMs(MINUTE_MS) })
  await ok(g.post(`/zones/versions/${version}/restore`))
  const { enabled, switched } = await find('path-3')
  assert.deepEqual([enabled, switched], [false, null])
})

test('an override survives a restart, and one that expired meanwhile ends at the start', async () => {
  await toggle({ zone_ids: ['path-3'], enabled: true, until: inMs(HOUR_MS) })
  await toggle({ zone_ids: ['path-7'], enabled: true, until: inMs(MINUTE_MS) })
  const before = await find('path-3')
  await g.restart(() => clock.advance(2 * MINUTE_MS))
  assert.deepEqual([await find('path-3'), await isEnabled('path-7')], [before, false])
  assert.deepEqual(await published(2), ['path-3', 'green-3'])
  // a wrong clock that is set back prolongs it, as documented
  clock.advance(-30 * MINUTE_MS)
  clock.advance(80 * MINUTE_MS)
  assert.equal(await isEnabled('path-3'), true)
  clock.advance(9 * MINUTE_MS)
  await becomes('path-3', false)
})

test('devices keep room for the zones that an override will bring back', async () => {
  const many = (prefix: string, count: number, enabled: boolean) =>
    Array.from({ length: count }, (_, i) => zone(`${prefix}-${i}`, { enabled }))
  await put([...many('on', 60, true), ...many('off', 60, false)])
  await fails(ask({ zone_ids: many('off', 60, false).map(({ id }) => id), enabled: true }), 400, 'too_many_zones')
  await toggle({ types: ['stop'], enabled: false, until: inMs(MINUTE_MS) })
  const own = collection(...many('own', 50, true))
  await fails(g.put('/groups/1/geofences', own), 400, 'too_many_zones')
})

test('the name of an erased person is removed from their overrides', async () => {
  const { key } = await g.createUser({ name: 'Kim', role: 'staff', allowed_hardware_ids: ['*'] })
  await ask({ zone_ids: ['path-3'], enabled: true }, key)
  await ok(g.post('/erasures', { person: 'kim' }))
  // the type of the GET /zones response
  const { switched } = (await find('path-3')) as { switched: { by: { name: string } } }
  assert.equal(switched.by.name, '')
})

describe('the delivery of zones', () => {
  const clients = new Map<string, MqttClient>()
  const applied = async (key = staff.key) => ok(g.get('/zones/applied', { key }))
  const versionOf = async (groupId: number) => (await g.get(`/groups/${groupId}/geofences`)).body.version

  async function acknowledge(hardwareId: string, sz: number): Promise<void> {
    clock.advance(1000)
    const client = clients.get(hardwareId)
    assert.ok(client !== undefined)
    await publish(client, `dev/${hardwareId}/ack`, { sz })
  }

  before(async () => {
    for (const [hardwareId, type, cart, groupId] of [
      ['box-2', 'teebox', '2', 1],
      ['box-10', 'teebox', '10', 1],
      ['screen-10', 'cartcaddie', '10', 1],
      ['box-alone', 'teebox', 'alone', null],
      ['screen', 'cartcaddie', 'screen', 1],
      ['front', 'teebox', 'twin', 1],
      ['rear', 'teebox', 'twin', 2],
    ] as const) {
      clients.set(hardwareId, await g.device(hardwareId, type))
      await g.patch(`/devices/${hardwareId}`, { cart })
      if (groupId !== null) await g.put(`/groups/${groupId}/devices/${hardwareId}`)
    }
  })

  test('covers a cart once each of its teeboxes has reported them, and skips carts without one', async () => {
    const version = (await g.get('/zones')).body.version
    assert.deepEqual(await applied(), { version, applied: [], waiting: ['2', '10', 'twin'] })
    const [one, two] = [await versionOf(1), await versionOf(2)]
    await acknowledge('box-10', one)
    await acknowledge('front', one)
    await acknowledge('box-2', one - 1)
    assert.deepEqual(await applied(), { version, applied: ['10'], waiting: ['2', 'twin'] })
    await acknowledge('rear', two)
    await acknowledge('box-2', one + 1)
    assert.deepEqual(await applied(), { version, applied: ['10', 'twin'], waiting: ['2'] })
    const partial = await g.createUser({ role: 'staff', allowed_hardware_ids: ['box-2', 'front'] })
    assert.deepEqual(await applied(partial.key), { version, applied: ['twin'], waiting: ['2'] })
  })

  test('of an override in one group waits for the carts of that group only', async () => {
    for (const box of ['box-2', 'box-10', 'front']) await acknowledge(box, await versionOf(1))
    await acknowledge('rear', await versionOf(2))
    await toggle({ zone_ids: ['path-7'], enabled: true })
    const { applied: have, waiting } = await applied()
    assert.deepEqual([have, waiting], [['2', '10'], ['twin']])
  })

  test("accepts a later set with zones of the group as containing the site's zones too", async () => {
    const since = await versionOf(1)
    await g.put('/groups/1/geofences', collection(zone('own')))
    await acknowledge('box-2', since)
    await acknowledge('box-10', since + 1)
    assert.deepEqual((await applied()).applied, ['2', '10'])
    await g.put('/groups/1/geofences', collection())
    await g.restart()
    assert.deepEqual((await applied()).applied, ['2', '10'])
  })

  test('ignores versions that a device reported in another group', async () => {
    // both groups reach the same version
    while ((await versionOf(2)) < (await versionOf(1))) await g.put('/groups/2/geofences', collection())
    while ((await versionOf(1)) < (await versionOf(2))) await g.put('/groups/1/geofences', collection())
    await put([...(await features()), zone('new')])
    clients.set('late', await g.device('late'))
    await g.patch('/devices/late', { cart: 'late' })
    await g.put('/groups/1/devices/late')
    await acknowledge('late', await versionOf(1))
    assert.ok((await applied()).applied.includes('late'))
    await g.put('/groups/2/devices/late')
    assert.ok((await applied()).waiting.includes('late'))
    await g.restart()
    assert.ok((await applied()).waiting.includes('late'))
  })
})
