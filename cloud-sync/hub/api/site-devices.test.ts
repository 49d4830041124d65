import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ANY_DATABASE } from '#hub/testing/databases.ts'
import { openHub, type TestHub } from '#hub/testing/open-hub.ts'
import { People, REFUSED_OUTSIDE_SCOPE, REFUSED_WITHOUT_KEY, type Who } from '#hub/testing/people.ts'
import { rowsContent, type SiteClient } from '#hub/testing/site-client.ts'

const AT = '2026-05-01T08:30:00.000Z'

let hub: TestHub
let people: People
let site: SiteClient
let other: SiteClient
let keys: Record<Who, string | null>

function device(hardwareId: string, attributes: object, more: object = {}) {
  return {
    short_id: `s-${hardwareId}`,
    hardware_id: hardwareId,
    device_type: 'teebox',
    name: null,
    cart: null,
    attributes,
    is_online: true,
    group_id: 42,
    created_at: AT,
    updated_at: AT,
    ...more,
  }
}

const CARTS = [
  device('cart-1', { lat: 28.41, long: -81.58, lock_status: true }),
  device('cart-2', { battery_voltage: 12.4 }, { name: 'Müller 2', cart: '2 🏌', group_id: null }),
  device('screen-1', {}, { device_type: 'cartcaddie', cart: '2 🏌', is_online: false }),
]

const LOCK = { command_id: null, metadata: null, code: null, short_id: 's-cart-1' }
const LOCKS = [
  {
    ...LOCK,
    seq: 1,
    event_id: 'e1',
    hardware_id: 'cart-1',
    event: 'unlock',
    source: 'rfid',
    at_ms: 1000,
    code: '04A1',
  },
  { ...LOCK, seq: 2, event_id: 'e2', hardware_id: 'cart-1', event: 'lock', source: 'key', at_ms: 2000 },
  {
    ...LOCK,
    seq: 3,
    event_id: 'e3',
    hardware_id: 'cart-2',
    event: 'lock',
    source: 'remote',
    at_ms: 3000,
    metadata: { name: 'Jane' },
    short_id: 's-cart-2',
  },
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
  {
    seq: 1,
    table: 'device_group',
    key: '42',
    body: { group_id: 42, name: 'Nine', created_at_ms: 1, updated_at_ms: 2 },
  },
  {
    seq: 2,
    table: 'device_group',
    key: '7',
    body: { group_id: 7, name: 'Seven', created_at_ms: 1, updated_at_ms: 2 },
  },
  { seq: 3, table: 'device', key: 'cart-1', body: { hardware_id: 'cart-1', group_id: 42 } },
  { seq: 4, table: 'device', key: 'cart-2', body: { hardware_id: 'cart-2', group_id: null } },
  { seq: 5, table: 'geofence_set', key: '42', body: { group_id: 42, version: 9, zones: [] } },
]

before(async () => {
  hub = await openHub(ANY_DATABASE)
  people = new People(hub)
  site = await hub.site()
  other = await hub.site()
  keys = await people.callers(site.siteId)
  await site.latest({ devices: CARTS })
  // a gateway that reports the id of another site
  await other.latest({ devices: [device('cart-9', {}, { site_id: site.siteId })] })
  await site.push(
    site.part('lock_events', rowsContent(LOCKS)),
    site.part('geofence_events', rowsContent([CROSSING])),
    site.part('entities', rowsContent(ENTITIES)),
  )
})

after(() => hub.stop())

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

for (const [who, status, code] of REFUSED_OUTSIDE_SCOPE) {
  test(`${who} reads nothing of the site`, async () => {
    // authentication comes before all of them, and blocks a caller that fails twenty times
    for (const path of status === 401 ? READS.slice(0, 4) : READS) {
      const answer = await people.request('GET', `/sites/${site.siteId}${path}`, { key: keys[who] })
      assert.deepEqual([answer.status, answer.body.code], [status, code], path)
    }
  })
}

for (const who of ['a viewer', 'an operator', 'admin'] as const) {
  test(`${who} reads all of the site`, async () => {
    for (const path of READS) {
      const answer = await people.request('GET', `/sites/${site.siteId}${path}`, { key: keys[who] })
      const expected = path.endsWith('/latest') ? 404 : 200
      assert.equal(answer.status, expected, path)
    }
  })
}

test('an unknown site or device gets 404', async () => {
  for (const path of READS) {
    assert.equal((await people.request('GET', `/sites/nowhere${path}`)).body.code, 'site_not_found', path)
    if (!path.includes('cart-1')) continue
    const elsewhere = `/sites/${other.siteId}${path}`
    assert.equal((await people.request('GET', elsewhere)).body.code, 'device_not_found', path)
  }
})

async function listed(query: string, key?: string | null): Promise<string[]> {
  const { body } = await people.request('GET', `/sites/${site.siteId}/devices${query}`, {
    ...(key === undefined ? {} : { key }),
  })
  return body.devices.map((one: { hardware_id: string }) => one.hardware_id)
}

test('a device has the state its gateway reported, under either of its ids', async () => {
  const path = `/sites/${site.siteId}/devices`
  // fields sent as null are omitted
  const shown = CARTS.map(({ name, ...cart }) => (name === null ? cart : { name, ...cart }))
  assert.deepEqual((await people.request('GET', `${path}/cart-1`)).body, shown[0])
  assert.deepEqual((await people.request('GET', `${path}/s-cart-2`)).body, shown[1])
  assert.deepEqual((await people.request('GET', path)).body, {
    devices: shown,
    pagination: { limit: 100, offset: 0, returned: 3 },
  })
})

test('a list has the filters and pages of a gateway', async () => {
  assert.deepEqual(await listed('?device_type=cartcaddie'), ['screen-1'])
  assert.deepEqual(await listed('?hardware_ids=cart-2,nobody'), ['cart-2'])
  assert.deepEqual(await listed('?search=mÜLLER'), ['cart-2'])
  assert.deepEqual(await listed('?attr_lock_status=1'), ['cart-1'])
  assert.deepEqual(await listed('?attr_battery_voltage=12.40&search=s-cart'), ['cart-2'])
  assert.deepEqual(await listed(`?cart=${encodeURIComponent('2 🏌')}`), ['cart-2', 'screen-1'])
  assert.deepEqual(await listed('?cart=null'), [])
  assert.deepEqual(await listed('?cart=%00'), [])
  assert.deepEqual(await listed('?is_online=false'), ['screen-1'])
  assert.deepEqual(await listed('?is_online=true&group_id=42'), ['cart-1'])
  assert.deepEqual(await listed('?group_id=42&order=desc&limit=1'), ['screen-1'])
  assert.deepEqual(await listed('?battery_below=12.41&is_online=true'), ['cart-2'])
  assert.deepEqual(await listed('?battery_below=12.4'), [])
  assert.deepEqual(await listed('?limit=1&offset=1'), ['cart-2'])
  assert.deepEqual(await listed('?offset=9'), [])
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
    const { status, body } = await people.request('GET', `/sites/${site.siteId}/devices?${query}`)
    assert.deepEqual([status, body.code], [400, code], query)
  }
})

test('the map has the devices of all sites in scope', async () => {
  for (const [who, status, code] of REFUSED_WITHOUT_KEY) {
    const answer = await people.request('GET', '/devices', { key: keys[who] })
    assert.deepEqual([answer.status, answer.body.code], [status, code])
  }
  const seen = async (who: Who, query = '') => {
    const { body } = await people.request('GET', `/devices${query}`, { key: keys[who] })
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
  const ids = async (query: string) => {
    const { body } = await people.request('GET', `/sites/${site.siteId}/lock-events${query}`)
    return body.events.map((one: { event_id: string }) => one.event_id)
  }
  const { body } = await people.request('GET', `/sites/${site.siteId}/lock-events?limit=1`)
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
    const refused = await people.request('GET', `/sites/${site.siteId}/lock-events?${query}`)
    assert.deepEqual([refused.status, refused.body.code], [400, 'invalid_parameter'], query)
  }
  const wrong = await people.request('GET', `/sites/${site.siteId}/lock-events?from=2026-01-02&to=2026-01-01`)
  assert.equal(wrong.body.code, 'invalid_range')
})

test('events of a re-registered device are separate from earlier ones, of old and new gateways', async () => {
  const again = await hub.site()
  await again.latest({ devices: [device('cart-1', {}, { created_at: '1970-01-01T00:00:10.000Z' })] })
  const event = { ...LOCK, hardware_id: 'cart-1', event: 'lock', source: 'key' }
  const { short_id: _, ...old } = event
  await again.push(
    again.part(
      'lock_events',
      rowsContent([
        { ...old, seq: 1, event_id: 'old-before', at_ms: 9999 },
        { ...old, seq: 2, event_id: 'old-since', at_ms: 10_000 },
        { ...event, seq: 3, event_id: 'before', at_ms: 10_001, short_id: 'another1' },
        { ...event, seq: 4, event_id: 'since', at_ms: 1 },
        { ...event, seq: 5, event_id: 'gone', at_ms: 0, hardware_id: 'cart-2' },
      ]),
    ),
  )
  const listed = async (query: string) => {
    const { body } = await people.request('GET', `/sites/${again.siteId}/lock-events${query}`)
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
  const path = `/sites/${site.siteId}/geofence-events`
  const { seq: _, at_ms: __, short_id: ___, ...rest } = CROSSING
  assert.deepEqual((await people.request('GET', `${path}?group_id=42&zone_type=stop`)).body.events, [
    { ...rest, timestamp: '1970-01-01T00:00:05.000Z' },
  ])
  for (const query of ['group_id=7', 'zone_id=green-2', 'event=exit', 'hardware_id=cart-2'])
    assert.deepEqual((await people.request('GET', `${path}?${query}`)).body.events, [], query)
})

test('texts that databases cannot store do not break any list', async () => {
  const strange = await hub.site()
  const path = `/sites/${strange.siteId}`
  const text = { nul: '\0', half: '\ud83d', both: '\\u0000' }
  await strange.latest({
    devices: [device('cart-1', text), device('cart-2', {}, { short_id: 'c2' })],
  })
  const entity = (seq: number, table: string, key: string, body: object) => ({ seq, table, key, body })
  await strange.push(
    strange.part(
      'entities',
      rowsContent([
        entity(1, 'device', 'cart-1', { group_id: 1, name: '\0\ud83d' }),
        entity(2, 'device_group', '1', { group_id: 1, name: 'A\0', created_at_ms: 1, updated_at_ms: 1 }),
        entity(3, 'geofence_set', '1', { version: 3, zones: '\0' }),
      ]),
    ),
  )
  const event = {
    hardware_id: 'cart-1',
    event: 'lock',
    source: 'remote',
    at_ms: 5,
    code: null,
    command_id: null,
  }
  await strange.push(
    strange.part('lock_events', rowsContent([{ ...event, seq: 1, event_id: 'a', metadata: { deep: '\0' } }])),
  )
  assert.equal((await people.request('GET', `${path}/devices/c2`)).body.hardware_id, 'cart-2')
  const listed = (await people.request('GET', `${path}/devices?device_type=teebox`)).body.devices
  assert.equal(listed.length, 2)
  const [group] = (await people.request('GET', `${path}/groups`)).body
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
  const { body } = await people.request('GET', `/sites/${site.siteId}/groups`)
  const times = { created_at: '1970-01-01T00:00:00.001Z', updated_at: '1970-01-01T00:00:00.002Z' }
  assert.deepEqual(body, [
    { group_id: 7, name: 'Seven', device_count: 0, geofence_version: 0, ...times },
    { group_id: 42, name: 'Nine', device_count: 1, geofence_version: 9, ...times },
  ])
})
