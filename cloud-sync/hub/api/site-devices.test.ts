import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { REFUSED_OUTSIDE_SCOPE, REFUSED_WITHOUT_KEY, valuesOf, type Who } from '#hub/testing/people.ts'
import { reportedDevice, sentLockEvent } from '#hub/testing/reported.ts'
import { siteScene } from '#hub/testing/scene.ts'
import type { SiteClient } from '#hub/testing/site-client.ts'

const { hub, people, site } = siteScene()
let other: SiteClient

function device(hardwareId: string, attributes: object, more: object = {}) {
  return reportedDevice(hardwareId, { attributes, group_id: 42, ...more })
}

const lockEvent = (seq: number, fields: object) =>
  sentLockEvent(seq, { event_id: `e${seq}`, at_ms: seq * 1000, short_id: 's-cart-1', ...fields })
const group = (group_id: number, name: string) => ({ group_id, name, created_at_ms: 1, updated_at_ms: 2 })

const CARTS = [
  device('cart-1', { lat: 28.41, long: -81.58, lock_status: true }),
  device('cart-2', { battery_voltage: 12.4 }, { name: 'Müller 2', cart: '2 🏌', group_id: null }),
  device('screen-1', {}, { device_type: 'cartcaddie', cart: '2 🏌', is_online: false }),
]

const LOCKS = [
  lockEvent(1, { event: 'unlock', source: 'rfid', code: '04A1' }),
  lockEvent(2, {}),
  lockEvent(3, { hardware_id: 'cart-2', source: 'remote', metadata: { name: 'Jane' }, short_id: 's-cart-2' }),
]
const CROSSING = {
  seq: 1,
  event_id: 'g1',
  hardware_id: 'cart-1',
  event: 'enter',
  group_id: 42,
  zone_id: 'green-1',
  zone_name: 'Green 1',
  zone_type: 'stop',
  at_ms: 5000,
  lat: 28.41,
  long: -81.58,
  short_id: 's-cart-1',
}
const ENTITIES = [
  { table: 'device_group', key: '42', body: group(42, 'Nine') },
  { table: 'device_group', key: '7', body: group(7, 'Seven') },
  { table: 'device', key: 'cart-1', body: { hardware_id: 'cart-1', group_id: 42 } },
  { table: 'device', key: 'cart-2', body: { hardware_id: 'cart-2', group_id: null } },
  { table: 'geofence_set', key: '42', body: { group_id: 42, version: 9, zones: [] } },
]

before(async () => {
  other = await hub.site()
  await people.callers(site.siteId)
  await site.latest({ devices: CARTS })
  // a gateway that reports the id of another site
  await other.latest({ devices: [device('cart-9', {}, { site_id: site.siteId })] })
  await site.pushRows('lock_events', LOCKS)
  await site.pushRows('geofence_events', [CROSSING])
  await site.pushEntities(...ENTITIES)
})

const READS = [
  '/devices',
  '/devices/cart-1',
  '/devices/cart-1/gps',
  '/devices/cart-1/gps/latest',
  '/devices/cart-1/battery',
  '/devices/cart-1/battery/latest',
  '/lock-events',
  '/geofence-events',
  '/groups',
  '/trips/active',
  '/trips?from=2026-05-01&to=2026-05-02',
  '/trips/cart-1?from=2026-05-01&to=2026-05-02',
  '/trips/cart-1/active',
  '/trips/cart-1/summary',
]

for (const refusal of REFUSED_OUTSIDE_SCOPE) {
  const [who, status] = refusal
  test(`${who} reads nothing of the site`, async () => {
    // authentication comes before all of them, and blocks a caller that fails twenty times
    for (const path of status === 401 ? READS.slice(0, 4) : READS)
      await people.checkRefused(refusal, ['GET', `${site.path}${path}`])
  })
}

for (const who of ['a viewer', 'an operator', 'admin'] as const) {
  test(`${who} reads all of the site`, async () => {
    for (const path of READS) {
      const answer = await people.request('GET', `${site.path}${path}`, { key: people.keys[who] })
      assert.equal(answer.status, path.endsWith('/latest') ? 404 : 200, path)
    }
  })
}

test('an unknown site or device gets 404', async () => {
  for (const path of READS) {
    assert.equal((await people.get(`/sites/nowhere${path}`)).code, 'site_not_found', path)
    if (!path.includes('cart-1')) continue
    const elsewhere = `${other.path}${path}`
    assert.equal((await people.get(elsewhere)).code, 'device_not_found', path)
  }
})

async function listed(query: string): Promise<unknown[]> {
  return valuesOf((await people.get(`${site.path}/devices${query}`)).devices, 'hardware_id')
}

test('a device has the state its gateway reported, under either of its ids', async () => {
  const path = `${site.path}/devices`
  // fields sent as null are omitted
  const shown = CARTS.map(({ name, ...cart }) => (name === null ? cart : { name, ...cart }))
  assert.deepEqual(await people.get(`${path}/cart-1`), shown[0])
  assert.deepEqual(await people.get(`${path}/s-cart-2`), shown[1])
  assert.deepEqual(await people.get(path), { devices: shown, pagination: { limit: 100, offset: 0, returned: 3 } })
})

test('a list has the filters and pages of a gateway', async () => {
  for (const [query, expected] of [
    ['?device_type=cartcaddie', ['screen-1']],
    ['?hardware_ids=cart-2,unknown', ['cart-2']],
    ['?search=mÜLLER', ['cart-2']],
    ['?attr_lock_status=1', ['cart-1']],
    ['?attr_battery_voltage=12.40&search=s-cart', ['cart-2']],
    [`?cart=${encodeURIComponent('2 🏌')}`, ['cart-2', 'screen-1']],
    ['?cart=null', []],
    ['?cart=%00', []],
    ['?is_online=false', ['screen-1']],
    ['?is_online=true&group_id=42', ['cart-1']],
    ['?group_id=42&order=desc&limit=1', ['screen-1']],
    ['?battery_below=12.41&is_online=true', ['cart-2']],
    ['?battery_below=12.4', []],
    ['?limit=1&offset=1', ['cart-2']],
    ['?offset=9', []],
  ] as const)
    assert.deepEqual(await listed(query), expected, query)
  for (const [query, code] of [
    ['limit=0', 'invalid_number'],
    ['limit=1001', 'invalid_number'],
    ['offset=-1', 'invalid_number'],
    ['hardware_ids=', 'empty_list'],
    ['is_online=1', 'invalid_parameter'],
    ['group_id=0', 'invalid_number'],
    ['battery_below=x', 'invalid_number'],
    ['attr_%20=1', 'invalid_attribute_name'],
  ] as const) {
    assert.deepEqual(await people.refusal('GET', `${site.path}/devices?${query}`), [400, code], query)
  }
})

test('the map has the devices of all sites in scope', async () => {
  for (const refusal of REFUSED_WITHOUT_KEY) await people.checkRefused(refusal, ['GET', '/devices'])
  const seen = async (who: Who, query = '') => {
    const { body } = await people.request('GET', `/devices${query}`, { key: people.keys[who] })
    return body.devices.map((one: { site_id: string; hardware_id: string }) => `${one.site_id} ${one.hardware_id}`)
  }
  const mine = CARTS.map((cart) => `${site.siteId} ${cart.hardware_id}`)
  const all = [...mine, `${other.siteId} cart-9`]
  assert.deepEqual(await seen('admin'), all)
  assert.deepEqual(await seen('a viewer'), mine)
  assert.deepEqual(await seen('no scope'), [])
  assert.deepEqual(await seen('out of scope'), [])
  assert.deepEqual(await seen('admin', `?site_ids=${other.siteId}`), all.slice(3))
  assert.deepEqual(await seen('a viewer', `?site_ids=${other.siteId}`), [])
  assert.deepEqual(await seen('admin', '?limit=2&offset=2'), all.slice(2))
  assert.deepEqual(await seen('admin', '?is_online=true&limit=2&offset=1'), [all[1], all[3]])
})

test('lock events are those of the gateway, newest first, with its filters', async () => {
  const ids = async (query: string) =>
    valuesOf((await people.get(`${site.path}/lock-events${query}`)).events, 'event_id')
  const { body } = await people.request('GET', `${site.path}/lock-events?limit=1`)
  assert.deepEqual(body.events[0], {
    event_id: 'e3',
    hardware_id: 'cart-2',
    event: 'lock',
    timestamp: '1970-01-01T00:00:03.000Z',
    source: 'remote',
    metadata: { name: 'Jane' },
  })
  assert.deepEqual(await ids(''), ['e3', 'e2', 'e1'])
  assert.deepEqual(await ids('?hardware_id=cart-1&event=unlock'), ['e1'])
  assert.deepEqual(await ids('?source=key'), ['e2'])
  assert.deepEqual(await ids('?code=04A1'), ['e1'])
  assert.deepEqual(await ids('?from=1970-01-01T00:00:02Z'), ['e3', 'e2'])
  assert.deepEqual(await ids('?limit=1&offset=1'), ['e2'])
  for (const offset of ['10001', '9007199254740991', '9'.repeat(30)])
    assert.deepEqual(await ids(`?offset=${offset}`), [])
  assert.deepEqual(await ids('?order=asc'), ['e1', 'e2', 'e3'])
  assert.deepEqual(await ids('?before=e3'), ['e2', 'e1'])
  assert.deepEqual(await ids('?before=e3&order=asc&limit=1'), ['e1'])
  for (const query of ['order=newest', 'before=nothing', 'before=%00']) {
    const refusal = await people.refusal('GET', `${site.path}/lock-events?${query}`)
    assert.deepEqual(refusal, [400, 'invalid_parameter'], query)
  }
  const wrong = await people.get(`${site.path}/lock-events?from=2026-01-02&to=2026-01-01`)
  assert.equal(wrong.code, 'invalid_range')
})

test('events of a re-registered device are separate from earlier ones, of old and new gateways', async () => {
  const again = await hub.site()
  await again.latest({ devices: [device('cart-1', {}, { created_at: '1970-01-01T00:00:10.000Z' })] })
  // gateways once sent no short id
  const { short_id: _, ...old } = lockEvent(1, { event_id: 'old-before', at_ms: 9999 })
  await again.pushRows('lock_events', [
    old,
    { ...old, seq: 2, event_id: 'old-since', at_ms: 10_000 },
    lockEvent(3, { event_id: 'before', at_ms: 10_001, short_id: 'another1' }),
    lockEvent(4, { event_id: 'since', at_ms: 1 }),
    lockEvent(5, { event_id: 'gone', at_ms: 0, hardware_id: 'cart-2' }),
  ])
  const listed = async (query: string) => {
    const { body } = await people.request('GET', `${again.path}/lock-events${query}`)
    return body.events.map((one: { event_id: string; device_removed?: true }) => [one.event_id, one.device_removed])
  }
  assert.deepEqual(await listed(''), [
    ['before', true],
    ['old-since', undefined],
    ['old-before', true],
    ['since', undefined],
    ['gone', true],
  ])
  assert.deepEqual(await listed('?hardware_id=cart-1'), [
    ['old-since', undefined],
    ['since', undefined],
  ])
  assert.deepEqual(await listed('?hardware_id=cart-2'), [['gone', true]])
})

test('geofence events are those of the gateway', async () => {
  const path = `${site.path}/geofence-events`
  const { seq: _, at_ms: __, short_id: ___, ...rest } = CROSSING
  assert.deepEqual((await people.get(`${path}?group_id=42&zone_type=stop`)).events, [
    { ...rest, timestamp: '1970-01-01T00:00:05.000Z' },
  ])
  for (const query of ['group_id=7', 'zone_id=green-2', 'event=exit', 'hardware_id=cart-2'])
    assert.deepEqual((await people.get(`${path}?${query}`)).events, [], query)
})

test('texts that databases cannot store do not break any list', async () => {
  const strange = await hub.site()
  const path = strange.path
  const text = { nul: '\0', half: '\ud83d', both: '\\u0000' }
  await strange.latest({ devices: [device('cart-1', text), device('cart-2', {}, { short_id: 'c2' })] })
  await strange.pushEntities(
    { table: 'device', key: 'cart-1', body: { group_id: 1, name: '\0\ud83d' } },
    { table: 'device_group', key: '1', body: { group_id: 1, name: 'A\0', created_at_ms: 1, updated_at_ms: 1 } },
    { table: 'geofence_set', key: '1', body: { version: 3, zones: '\0' } },
  )
  const event = { event_id: 'a', source: 'remote', at_ms: 5, metadata: { deep: '\0' } }
  await strange.pushRows('lock_events', [sentLockEvent(1, event)])
  assert.equal((await people.get(`${path}/devices/c2`)).hardware_id, 'cart-2')
  const listed = (await people.get(`${path}/devices?device_type=teebox`)).devices
  assert.equal(listed.length, 2)
  const [group] = await people.get(`${path}/groups`)
  assert.deepEqual([group.device_count, group.geofence_version], [1, 3])
  assert.equal((await people.request('GET', `${path}/lock-events?source=remote`)).status, 200)
  for (const wrong of [
    '/sites/%00',
    `${path}/devices/%00`,
    `${path}/intents/%00`,
    `${path}/devices?search=%00`,
    `${path}/devices?device_type=%00`,
    `${path}/devices?hardware_ids=%00`,
    `/devices?site_ids=%00`,
  ])
    assert.ok([200, 400, 404].includes((await people.request('GET', wrong)).status), wrong)
})

test('groups are those of the gateway', async () => {
  const { body } = await people.request('GET', `${site.path}/groups`)
  const times = { created_at: '1970-01-01T00:00:00.001Z', updated_at: '1970-01-01T00:00:00.002Z' }
  assert.deepEqual(body, [
    { group_id: 7, name: 'Seven', device_count: 0, geofence_version: 0, ...times },
    { group_id: 42, name: 'Nine', device_count: 1, geofence_version: 9, ...times },
  ])
})
