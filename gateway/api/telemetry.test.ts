import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get } from 'node:http'
import { before, test } from 'node:test'
import { MINUTE_MS, toIso } from '#shared/time.ts'
import { fails, ok, pluck, publish, publishAll, scene } from '#testing/scene.ts'
import { ADMIN_KEY } from '#testing/start-gateway.ts'

const NOON_MS = Date.UTC(2026, 4, 1, 12)
/** Records of `cart-1`: one a second from noon; GPS in all, battery in every second. */
const COUNT = 150
const LONG_COUNT = 2500
const LONG_STEP_MS = 2000
const { g, keys, onlyFor } = scene({
  settings: { CARTBARN_USER_DOWNLOADS: '100' },
  nowMs: NOON_MS + 24 * 60 * MINUTE_MS,
  devices: ['silent'],
  inScope: ['cart-1', 'silent'],
})
let shortId: string

before(async () => {
  await fill('cart-1', range(COUNT).map(sample))
  const long = range(LONG_COUNT).map((i) => ({ ts: NOON_MS + i * LONG_STEP_MS, lat: 1, long: 2, battery_voltage: 3 }))
  await fill('long', long)
  shortId = (await g.get('/devices/cart-1')).body.short_id
})

const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i)

const sample = (i: number) => ({
  ts: NOON_MS + i * 1000,
  lat: 48 + i / 1e7,
  long: -11.5 - i / 1e7,
  ...(i % 3 === 0 ? {} : { speed: i / 8 }),
  ...(i % 2 === 0 ? { battery_voltage: 50 - i / 1000 } : {}),
})

async function fill(hardwareId: string, samples: object[]): Promise<void> {
  const client = await g.device(hardwareId)
  await publishAll(client, `dev/${hardwareId}/tlm`, samples)
  await client.endAsync()
}

type RecordJson = { _id: string; timestamp: string }
const history = async (path: string): Promise<RecordJson[]> => ok(g.get(path))

/** Returns the numbers of the `cart-1` records in the response to `query`. */
async function numbers(query: string, stream = 'gps'): Promise<number[]> {
  const records = await history(`/devices/cart-1/${stream}${query}`)
  return records.map(({ timestamp }) => (Date.parse(timestamp) - NOON_MS) / 1000)
}

const NEWEST = range(COUNT).toReversed()
const USER_PATHS = ['/gps', '/gps/latest', '/battery', '/battery/latest']

for (const path of USER_PATHS) {
  onlyFor('those in scope', ['GET', `/devices/cart-1${path}`])
  for (const who of ['in scope', 'admin'] as const)
    test(`GET /devices/:id${path}: ${who} gets 200, by hardware id and by short id`, async () => {
      for (const id of ['cart-1', shortId]) await ok(g.get(`/devices/${id}${path}`, { key: keys[who] }))
    })
  test(`GET /devices/:id${path}: an unknown device is 404 device_not_found`, async () => {
    for (const who of ['in scope', 'no scope', 'admin'] as const)
      await fails(g.get(`/devices/nowhere${path}`, { key: keys[who] }), 404, 'device_not_found')
  })
}

for (const id of ['cart-1', 'nowhere']) onlyFor('admins', ['GET', `/devices/${id}/telemetry/stats`])

test('stats count the records of a device', async () => {
  for (const id of ['cart-1', shortId]) {
    const { body } = await g.get(`/devices/${id}/telemetry/stats`)
    assert.deepEqual(body, { hardware_id: 'cart-1', gps: COUNT, battery: COUNT / 2 })
  }
  assert.deepEqual((await g.get('/devices/silent/telemetry/stats')).body, { hardware_id: 'silent', gps: 0, battery: 0 })
  assert.equal((await g.get('/devices/nowhere/telemetry/stats')).body.code, 'device_not_found')
  const { body } = await g.get('/stats')
  assert.ok(body.telemetry.gps >= COUNT + LONG_COUNT && body.telemetry.battery >= COUNT / 2 + LONG_COUNT)
})

test('a repeated upload changes neither counts nor history', async () => {
  const before = await history('/devices/cart-1/gps?limit=10000')
  const { body } = await g.post('/devices/cart-1/rotate-mqtt-password')
  const client = await g.connect('cart-1', body.mqtt.password)
  const batch = range(50).map((i) => ({ ...sample(i), lat: 1 }))
  await publish(client, 'dev/cart-1/tlm', batch)
  await client.endAsync()
  assert.deepEqual(await history('/devices/cart-1/gps?limit=10000'), before)
  assert.equal((await g.get('/devices/cart-1/telemetry/stats')).body.gps, COUNT)
})

test('GPS records have the shape of the specification and are returned as sent', async () => {
  const records = await history('/devices/cart-1/gps?limit=150&order=asc')
  for (const [i, record] of records.entries()) {
    const { ts, lat, long, speed } = { speed: undefined, ...sample(i) }
    const { _id } = record
    const expected = { _id, device_id: shortId, hardware_id: 'cart-1', timestamp: toIso(ts), lat, long }
    assert.deepEqual(record, speed === undefined ? expected : { ...expected, speed })
  }
})

test('battery records have the shape of the specification', async () => {
  const records = await history('/devices/cart-1/battery?limit=150&order=asc')
  assert.equal(records.length, COUNT / 2)
  for (const [n, record] of records.entries()) {
    const { ts, battery_voltage } = { battery_voltage: undefined, ...sample(2 * n) }
    const { _id } = record
    assert.deepEqual(record, {
      _id,
      device_id: shortId,
      hardware_id: 'cart-1',
      timestamp: toIso(ts),
      battery_voltage,
    })
  }
})

test('ids are unique over streams and devices, the same in every response and after a restart', async () => {
  const all = async () => [
    ...(await history('/devices/cart-1/gps?limit=10000')),
    ...(await history('/devices/cart-1/battery?limit=10000')),
    ...(await history('/devices/long/gps?limit=10000')),
  ]
  const before = await all()
  assert.equal(new Set(before.map(({ _id }) => _id)).size, before.length)
  for (const stream of ['gps', 'battery']) {
    const [newest] = await history(`/devices/cart-1/${stream}?limit=1`)
    assert.deepEqual((await g.get(`/devices/cart-1/${stream}/latest`)).body, newest)
  }
  await g.restart()
  assert.deepEqual(await all(), before)
  for (const stream of ['gps', 'battery']) {
    const [newest] = await history(`/devices/cart-1/${stream}?limit=1`)
    assert.deepEqual((await g.get(`/devices/cart-1/${stream}/latest`)).body, newest)
  }
})

test('a device without records has empty histories, and its latest is 404 no_telemetry', async () => {
  for (const stream of ['gps', 'battery']) {
    assert.deepEqual(await history(`/devices/silent/${stream}`), [])
    await fails(g.get(`/devices/silent/${stream}/latest`), 404, 'no_telemetry')
  }
})

test('latest is the newest record by time, whatever arrived last', async () => {
  await fill('late', [
    { ts: NOON_MS + 1000, lat: 1, long: 1 },
    { ts: NOON_MS, lat: 2, long: 2 },
    { ts: NOON_MS + 2000, battery_voltage: 3 },
  ])
  assert.equal((await g.get('/devices/late/gps/latest')).body.lat, 1)
  assert.equal((await g.get('/devices/late/battery/latest')).body.battery_voltage, 3)
})

const T10 = '2026-05-01T12:00:10Z'
const T12 = '2026-05-01T12:00:12Z'

for (const [query, expected] of [
  ['', NEWEST.slice(0, 100)],
  ['?limit=1', [149]],
  ['?limit=3', [149, 148, 147]],
  ['?limit=10000', NEWEST],
  ['?limit=3&order=asc', [0, 1, 2]],
  ['?limit=3&order=desc', [149, 148, 147]],
  [`?from=${T10}&to=${T12}`, [12, 11, 10]],
  [`?from=${T10}&to=${T12}&order=asc`, [10, 11, 12]],
  [`?from=${T10}&to=${T12}&limit=1`, [12, 11, 10]],
  [`?from=${T10}&to=${T12}&limit=abc`, [12, 11, 10]],
  [`?from=${T10}&to=${T12}&limit=`, [12, 11, 10]],
  [`?from=${T10}&to=${T12}&limit=0&unknown=1`, [12, 11, 10]],
  [`?from=${T10}&to=${T12}&limit=1&limit=2`, [12, 11, 10]],
  [`?from=${T10}&to=${T10}`, [10]],
  ['?from=2026-05-01T12:00:10.001Z&to=2026-05-01T12:00:11.999Z', [11]],
  ['?from=2026-05-01T12:00:10.001Z&to=2026-05-01T12:00:10.999Z', []],
  ['?from=2026-05-01T14:00:10%2B02:00&to=2026-05-01T14:00:12%2B0200', [12, 11, 10]],
  ['?from=2026-05-01T14:00:10+02:00&to=2026-05-01T14:00:12+02:00', [12, 11, 10]],
  ['?from=2026-05-01T07:00:10-05:00&to=2026-05-01%2012:00:12', [12, 11, 10]],
  ['?from=2026-05-01T12:00&to=2026-05-01t12:00:01,000z', [1, 0]],
  ['?from=2026-05-01&to=2026-05-02', NEWEST],
  ['?from=2026-04-01&to=2026-05-01', []],
  ['?from=0001-01-01&to=9999-12-31', NEWEST],
] as [string, number[]][])
  test(`GPS history ${query} has ${expected.length} records, ${expected.slice(0, 3)} …`, async () =>
    assert.deepEqual(await numbers(query), expected))

test('battery history follows the same rules', async () => {
  assert.deepEqual(await numbers('?limit=2', 'battery'), [148, 146])
  assert.deepEqual(await numbers(`?from=${T10}&to=${T12}&limit=x`, 'battery'), [12, 10])
})

for (const [query, name, code] of [
  [`from=${T10}`, 'to', 'missing_parameter'],
  [`to=${T10}`, 'from', 'missing_parameter'],
  [`to=${T10}&limit=5`, 'from', 'missing_parameter'],
  [`from=${T12}&to=${T10}`, 'from', 'invalid_range'],
  ...['', 'x', '1777636800000', '2026-02-30', '2026-05-01T25:00Z', '2026-05-01T12:00:00+25:00', 'now'].flatMap(
    (date) => [
      [`from=${date}&to=${T10}`, 'from', 'invalid_date'],
      [`from=${T10}&to=${date}`, 'to', 'invalid_date'],
    ],
  ),
  ...['0', '10001', '-1', 'abc', '1.5', ''].map((limit) => [`limit=${limit}`, 'limit', 'invalid_number']),
  ['limit=1&limit=2', 'limit', 'invalid_parameter'],
  ['order=up', 'order', 'invalid_parameter'],
] as [string, string, string][])
  for (const stream of ['gps', 'battery'])
    test(`${stream} history ?${query} is 400 ${code} naming ${name}`, async () => {
      const body = await fails(g.get(`/devices/cart-1/${stream}?${query}`), 400, code)
      assert.deepEqual(pluck(body.errors, 'in', 'name', 'code'), [['query', name, code]])
    })

for (const [query, count] of [
  ['from=2026-05-01&to=2026-05-03', LONG_COUNT],
  // exactly two pages, and one record more
  [`from=${toIso(NOON_MS)}&to=${toIso(NOON_MS + 1999 * LONG_STEP_MS)}`, 2000],
  [`from=${toIso(NOON_MS)}&to=${toIso(NOON_MS + 2000 * LONG_STEP_MS)}`, 2001],
  ['limit=2000', 2000],
  ['limit=2001', 2001],
  ['limit=999', 999],
  ['limit=1000', 1000],
  ['limit=1001', 1001],
  ['limit=10000', LONG_COUNT],
] as const)
  for (const stream of ['gps', 'battery'])
    for (const order of ['asc', 'desc'] as const)
      test(`${stream} ?${query} ${order}: ${count} records in order, none twice, none missing`, async () => {
        const records = await history(`/devices/long/${stream}?${query}&order=${order}`)
        const fromEnd = query.startsWith('limit') && order === 'desc'
        const first = fromEnd ? LONG_COUNT - count : 0
        const expected = range(count).map((i) => toIso(NOON_MS + (first + i) * LONG_STEP_MS))
        assert.deepEqual(pluck(records, 'timestamp'), order === 'asc' ? expected : expected.toReversed())
      })

const LONG_URL = '/devices/long/gps?from=2026-05-01&to=2026-05-03'

test('over a socket a long range is one JSON array, for many concurrent requests', async () => {
  const answers = await Promise.all(
    range(8).map(async () => {
      const response = await fetch(g.http + LONG_URL, { headers: { 'x-api-key': ADMIN_KEY } })
      assert.equal(response.headers.get('content-type'), 'application/json')
      const records: unknown = await response.json()
      return Array.isArray(records) ? records.length : -1
    }),
  )
  assert.deepEqual(new Set(answers), new Set([LONG_COUNT]))
})

test('HEAD of a history has no body', async () => {
  const response = await fetch(g.http + LONG_URL, { method: 'HEAD', headers: { 'x-api-key': ADMIN_KEY } })
  assert.equal(response.status, 200)
  assert.equal(await response.text(), '')
})

test('clients that leave during a response do no harm', async () => {
  for (let i = 0; i < 20; i++) {
    const request = get(g.http + LONG_URL, { headers: { 'x-api-key': ADMIN_KEY } })
    request.on('error', () => undefined)
    const [response] = await once(request, 'response')
    response.on('error', () => undefined)
    if (i % 2 === 0) await once(response, 'data')
    const closed = once(request, 'close')
    request.destroy()
    await closed
  }
  const records = await history(LONG_URL)
  assert.equal(records.length, LONG_COUNT)
  await fill('afterwards', [{ lat: 1, long: 2 }])
  assert.equal((await history('/devices/afterwards/gps')).length, 1)
  await ok(g.get('/health'))
})
