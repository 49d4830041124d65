import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import fc from 'fast-check'
import { REFUSED_AS_NO_ADMIN } from '#testing/callers.ts'
import { fails, ok, pluck, publish, scene } from '#testing/scene.ts'

const { g, clock, keys, onlyFor } = scene({ devices: ['cart-1'], inScope: ['cart-1'] })
/** Key of a user who sees exactly the carts of the list tests. */
let listKey: string

const LIST_CARTS = [
  { id: 'L-01', type: 'teebox', name: 'Straße 100%', values: { fuel: 12.4, on: true, mode: 'eco' } },
  { id: 'L-02', type: 'teebox', name: 'STRASSE_2', values: { fuel: 12.4, on: 1, mode: 'ECO' } },
  { id: 'L-03', type: 'cartcaddie', name: 'Ηλίας', values: { fuel: 0, on: false, mode: '' } },
  { id: 'L-04', type: 'cartcaddie', name: null, values: { fuel: 3, on: 0 } },
  { id: 'L-05', type: 'teebox', name: '', values: {} },
  { id: 'l-06', type: 'teebox', name: 'x%y', values: { mode: 'sport' } },
] as const

before(async () => {
  await g.register('cart-2', 'cartcaddie')
  // in reverse, so that the order of the list differs from that of the registrations
  for (const { id, type, name, values } of LIST_CARTS.toReversed()) {
    const client = await g.device(id, type)
    await publish(client, `dev/${id}/tlm`, values)
    await g.patch(`/devices/${id}`, { name })
    await client.endAsync()
  }
  listKey = (await g.createUser({ allowed_hardware_ids: LIST_CARTS.map(({ id }) => id) })).key
})

const shortIdOf = async (hardwareId: string): Promise<string> => (await g.get(`/devices/${hardwareId}`)).body.short_id

/** Returns the hardware ids in the response to `query`, for the user of the list tests. */
async function listed(query: string, key: string | null = listKey): Promise<string[]> {
  const body = await ok(g.get(`/devices${query}`, { key }))
  return body.devices.map((device: { hardware_id: string }) => device.hardware_id)
}

const ADMIN_ROUTES: [method: string, path: string, body?: object][] = [
  ['POST', '/devices', { hardware_id: 'never', device_type: 'teebox' }],
  ['GET', '/devices/nowhere/details'],
  ['PUT', '/devices/nowhere', { name: 'x', device_type: 'teebox', group_id: null }],
  ['DELETE', '/devices/nowhere'],
  ['POST', '/devices/nowhere/rotate-mqtt-password'],
]
const USER_ROUTES: [method: string, path: string, body?: object][] = [
  ['GET', '/devices/cart-1'],
  ['PATCH', '/devices/cart-1', {}],
]

for (const [method, path, body] of ADMIN_ROUTES) {
  onlyFor('admins', [method, path, body])
  if (path === '/devices') continue
  test(`${method} ${path}: an unknown device is 404 device_not_found`, () =>
    fails(g.request(method, path, { body }), 404, 'device_not_found'))
}

for (const [method, path, body] of USER_ROUTES) {
  onlyFor('those in scope', [method, path, body])
  for (const who of ['in scope', 'no scope', 'admin'] as const)
    test(`${method}: an id that exists nowhere is 404 device_not_found for ${who}`, () =>
      fails(g.request(method, '/devices/nowhere', { key: keys[who], body }), 404, 'device_not_found'))
  for (const who of ['in scope', 'admin'] as const)
    test(`${method} ${path}: ${who} gets the device`, async () => {
      const answer = await g.request(method, path, { key: keys[who], body })
      assert.deepEqual([answer.status, answer.body.hardware_id], [200, 'cart-1'])
    })
}

test('a registration returns the login of the device, shown once', async () => {
  const { status, headers, body } = await g.post('/devices', {
    hardware_id: 'New.Cart_1-a',
    device_type: 'cartcaddie',
    name: '  Nine  ',
  })
  const nowIso = new Date(clock.nowMs()).toISOString()
  assert.equal(status, 201)
  assert.equal(headers.get('location'), '/devices/New.Cart_1-a')
  assert.deepEqual(body, {
    device: {
      short_id: body.device.short_id,
      hardware_id: 'New.Cart_1-a',
      device_type: 'cartcaddie',
      name: 'Nine',
      cart: null,
      attributes: {},
      is_online: false,
      group_id: null,
      enrolled_with_shared_key: false,
      created_at: nowIso,
      updated_at: nowIso,
    },
    mqtt: {
      username: 'New.Cart_1-a',
      password: body.mqtt.password,
      client_id: 'New.Cart_1-a',
      topics: body.mqtt.topics,
    },
  })
  assert.match(body.device.short_id, /^[a-z0-9]{8}$/)
  assert.ok(body.mqtt.password.length >= 24)
  assert.ok(body.mqtt.topics.publish.includes('dev/New.Cart_1-a/tlm'))
  assert.ok(body.mqtt.topics.subscribe.includes('dev/New.Cart_1-a/cmd'))
  for (const path of ['/devices/New.Cart_1-a', '/devices/New.Cart_1-a/details', '/devices?limit=1000'])
    assert.ok(!JSON.stringify((await g.get(path)).body).includes(body.mqtt.password))
  await (await g.connect('New.Cart_1-a', body.mqtt.password)).endAsync()
})

for (const [what, fields, code, name] of [
  ['nothing', {}, 'missing_field', 'hardware_id'],
  ['no type', { hardware_id: 'bad-1' }, 'missing_field', 'device_type'],
  ['a type that does not exist', { hardware_id: 'bad-1', device_type: 'boat' }, 'unknown_device_type', 'device_type'],
  ['an empty id', { hardware_id: '', device_type: 'teebox' }, 'invalid_field', 'hardware_id'],
  ['a slash in the id', { hardware_id: 'a/b', device_type: 'teebox' }, 'invalid_field', 'hardware_id'],
  ['a wildcard in the id', { hardware_id: 'a+', device_type: 'teebox' }, 'invalid_field', 'hardware_id'],
  ['an id of 65', { hardware_id: 'x'.repeat(65), device_type: 'teebox' }, 'invalid_field', 'hardware_id'],
  ['the id active', { hardware_id: 'active', device_type: 'teebox' }, 'invalid_field', 'hardware_id'],
  ['a number as id', { hardware_id: 7, device_type: 'teebox' }, 'invalid_field', 'hardware_id'],
  ['a name of 201', { hardware_id: 'bad-1', device_type: 'teebox', name: 'x'.repeat(201) }, 'invalid_field', 'name'],
  ['a number as name', { hardware_id: 'bad-1', device_type: 'teebox', name: 1 }, 'invalid_field', 'name'],
  ['an unknown group', { hardware_id: 'bad-1', device_type: 'teebox', group_id: 999 }, 'unknown_group', 'group_id'],
  ['group 0', { hardware_id: 'bad-1', device_type: 'teebox', group_id: 0 }, 'invalid_field', 'group_id'],
  ['a group as text', { hardware_id: 'bad-1', device_type: 'teebox', group_id: '1' }, 'invalid_field', 'group_id'],
  ['a short id', { hardware_id: 'bad-1', device_type: 'teebox', short_id: 'abcdefgh' }, 'unknown_field', 'short_id'],
] as [string, object, string, string][])
  test(`POST /devices with ${what} is 400 ${code} and registers nothing`, async () => {
    const body = await fails(g.post('/devices', fields), 400, code)
    assert.deepEqual([body.errors[0].name, body.errors[0].code], [name, code])
    assert.equal((await g.get('/devices/bad-1')).status, 404)
  })

test('a hardware id is registered once, and case matters', async () => {
  await g.register('Twice')
  await fails(g.post('/devices', { hardware_id: 'Twice', device_type: 'teebox' }), 409, 'device_exists')
  await g.register('twice')
})

test('exactly one of many concurrent registrations of one id succeeds', async () => {
  const body = { hardware_id: 'raced', device_type: 'teebox' }
  const answers = await Promise.all(Array.from({ length: 5 }, () => g.post('/devices', body)))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 409, 409, 409, 409])
})

test('a hardware id that is the short id of another device is 409', async () => {
  const body = { hardware_id: await shortIdOf('cart-1'), device_type: 'teebox' }
  await fails(g.post('/devices', body), 409, 'device_exists')
})

test('a device is also found by its short id, within the scope', async () => {
  const shortId = await shortIdOf('cart-1')
  for (const path of [`/devices/${shortId}`, `/devices/${shortId}/details`, `/devices/${shortId}/`])
    assert.equal((await g.get(path)).body.hardware_id, 'cart-1')
  await ok(g.get(`/devices/${shortId}`, { key: keys['in scope'] }))
  assert.equal((await g.get(`/devices/${shortId}`, { key: keys['out of scope'] })).status, 403)
})

test('the id in a path is URL-decoded', async () => {
  await g.register('a.b-c_d')
  assert.equal((await g.get('/devices/a%2Eb%2Dc_d')).body.hardware_id, 'a.b-c_d')
})

test('a user in scope renames a device and clears its name; updated_at moves', async () => {
  await g.register('named')
  const { key } = await g.createUser({ allowed_hardware_ids: ['named'] })
  const old = (await g.get('/devices/named')).body
  for (const [given, expected] of [
    [' Nine ', 'Nine'],
    ['', undefined],
    ['ü'.repeat(200), 'ü'.repeat(200)],
    ['  ', undefined],
    ['x', 'x'],
    [null, undefined],
  ]) {
    clock.advance(1000)
    const body = await ok(g.patch('/devices/named', { name: given }, { key }))
    const updated_at = new Date(clock.nowMs()).toISOString()
    assert.deepEqual(body, { ...old, ...(expected === undefined ? {} : { name: expected }), updated_at })
    assert.deepEqual((await g.get('/devices/named')).body, body)
  }
  clock.advance(1000)
  const unmoved = await g.patch('/devices/named', {}, { key })
  assert.equal(unmoved.body.updated_at, new Date(clock.nowMs() - 1000).toISOString())
})

test('a device without a name has no such member in any response', async () => {
  const device = await g.device('nameless')
  await g.post('/groups', { name: 'N', group_id: 77 })
  await g.put('/groups/77/devices/nameless')
  for (const name of ['Some', null]) {
    await g.patch('/devices/nameless', { name })
    const shown = [
      (await g.get('/devices/nameless')).body,
      (await g.get('/devices/nameless/details')).body,
      (await g.get('/devices?hardware_ids=nameless')).body.devices[0],
      (await g.get('/groups/77/devices')).body.devices[0],
    ]
    for (const json of shown) assert.equal(Object.hasOwn(json, 'name'), name !== null, JSON.stringify(json))
  }
  await device.endAsync()
})

for (const [what, fields, code] of [
  ['a number as name', { name: 1 }, 'invalid_field'],
  ['a name of 201', { name: 'x'.repeat(201) }, 'invalid_field'],
  ['the type', { device_type: 'teebox' }, 'unknown_field'],
  ['the group', { group_id: null }, 'unknown_field'],
] as [string, object, string][])
  test(`PATCH /devices/:id with ${what} is 400 ${code}`, () =>
    fails(g.patch('/devices/cart-1', fields, { key: keys['in scope'] }), 400, code))

const WHOLE = { name: 'x', device_type: 'teebox', group_id: null }

test('an admin changes name and type', async () => {
  await g.register('changed')
  const body = await ok(g.put('/devices/changed', { name: 'New', device_type: 'cartcaddie', group_id: null }))
  assert.deepEqual([body.name, body.device_type, body.group_id], ['New', 'cartcaddie', null])
  assert.deepEqual((await g.get('/devices/changed')).body, body)
})

for (const [what, fields, code] of [
  ['an unknown type', { ...WHOLE, device_type: 'boat' }, 'unknown_device_type'],
  ['type null', { ...WHOLE, device_type: null }, 'invalid_field'],
  ['an unknown group', { ...WHOLE, group_id: 12 }, 'unknown_group'],
  ['another hardware id', { ...WHOLE, hardware_id: 'cart-9' }, 'unknown_field'],
  ['nothing', {}, 'missing_field'],
  ['the name alone', { name: 'B' }, 'missing_field'],
  ['no group', { name: 'B', device_type: 'teebox' }, 'missing_field'],
  ['no name', { device_type: 'teebox', group_id: null }, 'missing_field'],
] as [string, object, string][])
  test(`PUT /devices/:id with ${what} is 400 ${code} and changes nothing`, async () => {
    const old = (await g.get('/devices/cart-2')).body
    await fails(g.put('/devices/cart-2', fields), 400, code)
    assert.deepEqual((await g.get('/devices/cart-2')).body, old)
  })

test('details show counts, drops, status and connection', async () => {
  const client = await g.device('detailed')
  const atMs = clock.nowMs() - 60_000
  await publish(client, 'dev/detailed/st', '{"online":true,"fw":"1.4.2","type":"teebox"}')
  await publish(client, 'dev/detailed/tlm', [
    { ts: atMs, lat: 48, long: 11, battery_voltage: 50, speed: -1 },
    { ts: atMs + 1000, lat: 48, long: 11 },
  ])
  const { body } = await g.get('/devices/detailed/details')
  const { telemetry, dropped, unverified_times, clock_off_s, status, mqtt, config, geofences, ...device } = body
  assert.deepEqual(device, (await g.get('/devices/detailed')).body)
  assert.equal(device.is_online, true)
  assert.deepEqual(telemetry, {
    gps: { count: 2, first_at: new Date(atMs).toISOString(), last_at: new Date(atMs + 1000).toISOString() },
    battery: { count: 1, first_at: new Date(atMs).toISOString(), last_at: new Date(atMs).toISOString() },
  })
  assert.deepEqual(dropped, { invalid_speed: 1 })
  assert.deepEqual([unverified_times, clock_off_s], [null, null])
  assert.deepEqual(status, { fw: '1.4.2', type: 'teebox' })
  assert.deepEqual(config, (await g.get('/devices/detailed/config')).body)
  assert.deepEqual(geofences, { applied_version: null, applied_at: null })
  assert.equal(mqtt.connected_since, new Date(clock.nowMs()).toISOString())
  assert.match(mqtt.address, /127\.0\.0\.1/)
})

test('details of a device that never sent anything are empty, not missing', async () => {
  const { body } = await g.get('/devices/cart-2/details')
  const empty = { count: 0, first_at: null, last_at: null }
  assert.deepEqual(body.telemetry, { gps: empty, battery: empty })
  assert.deepEqual(body.dropped, {})
  assert.equal(body.status, null)
  assert.deepEqual(body.mqtt, { connected_since: null, address: null, taken_over: 0 })
})

test('telemetry moves attributes, updated_at and last_responded_at', async () => {
  const client = await g.device('speaking')
  const before = (await g.get('/devices/speaking')).body
  assert.ok(!('last_responded_at' in before))
  clock.advance(5000)
  const nowIso = new Date(clock.nowMs()).toISOString()
  await publish(client, 'dev/speaking/tlm', '{"lat":48.1234567,"long":-11.5,"lock_status":0}')
  assert.deepEqual((await g.get('/devices/speaking')).body, {
    ...before,
    attributes: { lat: 48.1234567, long: -11.5, lock_status: 0 },
    updated_at: nowIso,
    last_responded_at: nowIso,
  })
})

test('a rotated MQTT password works and the old one does not', async () => {
  const old = await g.register('rotated')
  const body = await ok(g.post('/devices/rotated/rotate-mqtt-password'))
  assert.equal(body.success, true)
  assert.deepEqual([body.mqtt.username, body.mqtt.client_id], ['rotated', 'rotated'])
  await assert.rejects(g.connect('rotated', old))
  await (await g.connect('rotated', body.mqtt.password)).endAsync()
})

test('a deleted device is gone everywhere: list, path, login, connection, telemetry', async () => {
  const password = await g.register('doomed')
  const client = await g.connect('doomed', password)
  await publish(client, 'dev/doomed/tlm', '{"lat":1,"long":2,"battery_voltage":3}')
  const closed = new Promise<void>((resolve) => client.once('close', resolve))
  const counts = (await g.get('/stats')).body.telemetry

  assert.deepEqual(await ok(g.remove('/devices/doomed')), { success: true, deleted: 'doomed' })
  await closed
  await assert.rejects(g.connect('doomed', password))
  for (const path of ['', '/details', '/gps', '/gps/latest', '/battery', '/telemetry/stats'])
    assert.equal((await g.get(`/devices/doomed${path}`)).body.code, 'device_not_found')
  assert.deepEqual(await listed('?search=doomed', keys.admin), [])
  assert.deepEqual((await g.get('/stats')).body.telemetry, { gps: counts.gps - 1, battery: counts.battery - 1 })
  await fails(g.remove('/devices/doomed'), 404, 'device_not_found')

  await g.register('doomed')
  assert.deepEqual((await g.get('/devices/doomed/gps')).body, [])
  assert.deepEqual((await g.get('/devices/doomed')).body.attributes, {})
  assert.equal((await g.get('/devices/doomed/gps/latest')).body.code, 'no_telemetry')
})

test('exactly one of many concurrent deletions of a device succeeds', async () => {
  await g.register('raced-away')
  const answers = await Promise.all(Array.from({ length: 3 }, () => g.remove('/devices/raced-away')))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 404, 404])
})

for (const [who, status, code] of REFUSED_AS_NO_ADMIN.slice(0, 3))
  test(`GET /devices: ${who} gets ${status} ${code}`, () => fails(g.get('/devices', { key: keys[who] }), status, code))

test("a list holds the devices in the caller's scope, each the same as alone", async () => {
  assert.deepEqual(await listed('', keys['in scope']), ['cart-1'])
  assert.deepEqual(await listed('', keys['no scope']), [])
  assert.deepEqual(await listed('?hardware_ids=cart-1', keys['out of scope']), [])
  const { body } = await g.get('/devices', { key: listKey })
  assert.deepEqual(body.pagination, { limit: 100, offset: 0, returned: LIST_CARTS.length })
  for (const device of body.devices) assert.deepEqual(device, (await g.get(`/devices/${device.hardware_id}`)).body)
})

const ALL = ['L-01', 'L-02', 'L-03', 'L-04', 'L-05', 'l-06']

for (const [query, expected] of [
  ['', ALL],
  ['?hardware_ids=L-02', ['L-02']],
  ['?hardware_ids=L-02,L-01', ['L-01', 'L-02']],
  ['?hardware_ids=L-02%2CL-01', ['L-01', 'L-02']],
  ['?hardware_ids=L-02&hardware_ids=L-01', ['L-01', 'L-02']],
  ['?hardware_ids=L-05,%20L-02%20,,L-02&hardware_ids=L-01', ['L-01', 'L-02', 'L-05']],
  ['?hardware_ids=L-02,nowhere,cart-1', ['L-02']],
  ['?hardware_ids=l-02', []],
  ['?device_type=cartcaddie', ['L-03', 'L-04']],
  ['?device_type=boat', []],
  ['?device_type=cartcaddie&hardware_ids=L-01,L-03', ['L-03']],
  ['?search=', ALL],
  [`?search=${encodeURIComponent('🏌'.repeat(64))}`, []],
  ['?search=%20%20', ALL],
  ['?search=stra%C3%9Fe', ['L-01', 'L-02']],
  ['?search=STRASSE', ['L-01', 'L-02']],
  ['?search=%20strasse_%20', ['L-02']],
  ['?search=%CE%97%CE%9B%CE%8A%CE%91%CE%A3', ['L-03']],
  ['?search=%25', ['L-01', 'l-06']],
  ['?search=_', ['L-02']],
  ['?search=L-0', ALL],
  ['?search=null', []],
  ['?attr_fuel=12.40', ['L-01', 'L-02']],
  ['?attr_fuel=0', ['L-03']],
  ['?attr_fuel=', []],
  ['?attr_fuel=12.4&attr_mode=eco', ['L-01']],
  ['?attr_fuel=0&attr_fuel=3', ['L-03', 'L-04']],
  ['?attr_fuel=0&attr_fuel=3&attr_on=false', ['L-03', 'L-04']],
  ['?attr_on=1', ['L-01', 'L-02']],
  ['?attr_on=true', ['L-01', 'L-02']],
  ['?attr_on=0', ['L-03', 'L-04']],
  ['?attr_mode=', ['L-03']],
  ['?attr_mode=eco', ['L-01']],
  ['?attr_missing=1', []],
  ['?attr_constructor=1', []],
  ['?attr___proto__=1', []],
  ['?__proto__=1&constructor=2', ALL],
  ['?attr_mode=sport&search=x&device_type=teebox&hardware_ids=l-06', ['l-06']],
  ['?unknown=1&attribute=2', ALL],
  ['?limit=2', ['L-01', 'L-02']],
  ['?limit=2&offset=4', ['L-05', 'l-06']],
  ['?offset=6', []],
  ['?offset=9007199254740991', []],
  ['?limit=1000&offset=0005', ['l-06']],
] as [string, string[]][])
  test(`GET /devices${query} lists ${expected.join(' ') || 'nothing'}`, async () =>
    assert.deepEqual(await listed(query), expected))

for (const [query, name, code] of [
  ['hardware_ids=', 'hardware_ids', 'empty_list'],
  ['hardware_ids=%20,,', 'hardware_ids', 'empty_list'],
  ['hardware_ids', 'hardware_ids', 'empty_list'],
  [`search=${'x'.repeat(65)}`, 'search', 'invalid_parameter'],
  ['attr_=1', 'attr_', 'invalid_attribute_name'],
  ['attr_a-b=1', 'attr_a-b', 'invalid_attribute_name'],
  [`attr_${'x'.repeat(65)}=1`, `attr_${'x'.repeat(65)}`, 'invalid_attribute_name'],
  ...['0', '1001', '-1', 'abc', '1.5', '', '1e2', '%2B5', '0x10', '%205'].map((limit) => [
    `limit=${limit}`,
    'limit',
    'invalid_number',
  ]),
  ...['-1', 'abc', '1.5', '', '1e3', ' 1'].map((offset) => [`offset=${offset}`, 'offset', 'invalid_number']),
] as [string, string, string][])
  test(`GET /devices?${query.slice(0, 30)} is 400 ${code}`, async () => {
    const body = await fails(g.get(`/devices?${query}`), 400, code)
    assert.deepEqual(pluck(body.errors, 'in', 'name'), [['query', name]])
  })

test('a list of hardware ids does not take short ids', async () => {
  assert.deepEqual(await listed(`?hardware_ids=${await shortIdOf('L-01')}`), [])
  assert.deepEqual(await listed(`?hardware_ids=L-02,${await shortIdOf('L-01')}`), ['L-02'])
})

test('any number of attributes may be filtered in one request', async () => {
  const client = await g.device('many')
  const values = Object.fromEntries(Array.from({ length: 32 }, (_, i) => [`key_${i}`, i]))
  await publish(client, 'dev/many/tlm', values)
  const filters = Object.entries(values).map(([name, value]) => `attr_${name}=${value}`)
  assert.deepEqual(await listed(`?${filters.join('&')}`, keys.admin), ['many'])
  assert.deepEqual(await listed(`?${filters.join('&')}&attr_key_33=1`, keys.admin), [])
})

test('a list reflects changes since the last list', async () => {
  const password = await g.register('changing')
  const shown = async () => (await g.get('/devices?hardware_ids=changing')).body.devices[0]
  assert.deepEqual([(await shown()).is_online, (await shown()).attributes], [false, {}])
  const client = await g.connect('changing', password)
  await publish(client, 'dev/changing/st', '{"online":true}')
  assert.equal((await shown()).is_online, true)
  for (const speed of [1, 2]) {
    await publish(client, 'dev/changing/tlm', { ts: clock.nowMs() + speed, speed })
    assert.deepEqual((await shown()).attributes, { speed })
  }
  await g.patch('/devices/changing', { name: 'Ünal' })
  assert.equal((await shown()).name, 'Ünal')
  assert.deepEqual(await shown(), (await g.get('/devices/changing')).body)
})

test('repeating a parameter that is allowed once is 400', async () => {
  for (const query of ['limit=1&limit=2', 'offset=1&offset=2', 'search=a&search=b', 'device_type=a&device_type=b']) {
    const { status, body } = await g.get(`/devices?${query}`)
    assert.equal(status, 400)
    assert.match(body.detail, /^\w+: must be given only once$/)
  }
})

test('pages of any size form the whole list when joined, ordered by hardware_id', async () => {
  const whole = await listed('?limit=1000', keys.admin)
  assert.deepEqual(
    whole,
    whole.toSorted((a, b) => (a < b ? -1 : 1)),
  )
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: whole.length + 2 }), async (limit) => {
      const pages: string[] = []
      for (let offset = 0; ; offset += limit) {
        const { body } = await g.get(`/devices?limit=${limit}&offset=${offset}`)
        assert.deepEqual(body.pagination, { limit, offset, returned: body.devices.length })
        pages.push(...body.devices.map((device: { hardware_id: string }) => device.hardware_id))
        if (body.pagination.returned < limit) break
      }
      assert.deepEqual(pages, whole)
    }),
    { numRuns: 15 },
  )
})

test('devices, names and attributes survive a restart; all devices are offline then', async () => {
  const before = (await g.get('/devices?limit=1000')).body.devices
  await g.restart()
  const after = (await g.get('/devices?limit=1000')).body.devices
  assert.deepEqual(
    after,
    before.map((device: object) => ({ ...device, is_online: false })),
  )
})
