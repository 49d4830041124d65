import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { reportedDevice } from '#hub/testing/reported.ts'
import { siteScene } from '#hub/testing/scene.ts'
import { encodeBlock } from '#shared/telemetry/block.ts'
import { BATTERY, GPS, NO_SPEED } from '#shared/telemetry/records.ts'
import { toIso } from '#shared/time.ts'

const START_MS = Date.UTC(2026, 4, 1)
/** Number of records: the first arrive in blocks, the last as samples, and some in both. */
const COUNT = 9000

const { hub, people, site } = siteScene()
const path = '/sites/site-1/devices/cart-1'

function gpsFrom(first: number, count: number) {
  const records = GPS.allocate(count)
  for (let i = 0; i < count; i++) {
    records.atMs[i] = START_MS + (first + i) * 1000
    records.latE7[i] = 284_100_000 + first + i
    records.longE7[i] = -815_800_000
    records.speedMilliKmh[i] = (first + i) % 10 === 0 ? NO_SPEED : 12_400
  }
  return records
}

function blocksOf(first: number, count: number) {
  const blocks = []
  for (let at = 0; at < count; at += 1500) {
    const some = Math.min(1500, count - at)
    blocks.push({ hardwareId: 'cart-1', block: encodeBlock(GPS, gpsFrom(first + at, some)), count: some })
  }
  return blocks
}

before(async () => {
  const times = { created_at: toIso(START_MS), updated_at: toIso(START_MS) }
  await site.latest({ devices: [reportedDevice('cart-1', { short_id: 'k3', name: 'Cart <1>', ...times })] })
  const battery = BATTERY.allocate(3)
  for (let i = 0; i < 3; i++) {
    battery.atMs[i] = START_MS + i * 60_000
    battery.voltageMv[i] = 50_900 + i
  }
  await site.pushBlocks(blocksOf(0, 7500))
  await site.pushRuns([
    { hardwareId: 'cart-1', stream: 'gps', records: gpsFrom(7000, 2000) },
    { hardwareId: 'cart-1', stream: 'battery', records: battery },
  ])
})

const at = (index: number) => toIso(START_MS + index * 1000)

test('records of blocks and of segments form one history, each record once, in pages or all', async () => {
  const all = await people.get(`${path}/gps?from=2026-05-01&to=2026-05-02&order=asc`)
  assert.equal(all.length, COUNT)
  for (const [i, record] of all.entries()) assert.equal(record.timestamp, at(i))
  const backward = await people.get(`${path}/gps?from=2026-05-01&to=2026-05-02`)
  assert.deepEqual(backward, all.toReversed())
})

test('a record is identical to the response of its gateway', async () => {
  const { body } = await people.request('GET', `${path}/gps?limit=2`)
  assert.deepEqual(body[0], {
    _id: body[0]._id,
    device_id: 'k3',
    hardware_id: 'cart-1',
    timestamp: at(COUNT - 1),
    lat: 28.4108999,
    long: -81.58,
    speed: 12.4,
  })
  assert.match(body[0]._id, /^[A-Za-z0-9_-]{12}[0-9a-z]{9}$/)
  assert.equal(body.length, 2)
  assert.equal('speed' in (await people.get(`${path}/gps?from=${at(10)}&to=${at(10)}`))[0], false)
})

test('a download ends when its user is deleted or loses access to the site', async () => {
  for (const revoke of [
    (id: string) => people.request('DELETE', `/users/${id}`),
    (id: string) => people.request('PATCH', `/users/${id}`, { body: { is_active: false } }),
    (id: string) => people.request('PATCH', `/users/${id}`, { body: { site_ids: [] } }),
  ]) {
    const { userId, key } = await people.createUser({ role: 'viewer', site_ids: [site.siteId] })
    const all = `${path}/gps?from=2026-05-01&to=2026-05-02&order=asc`
    const { body } = await hub.hub.app.request(all, { headers: { 'x-api-key': key } })
    const reader = body?.getReader() ?? assert.fail('no body')
    await reader.read()
    assert.ok((await revoke(userId)).status < 300)
    await assert.rejects(async () => {
      while (!(await reader.read()).done);
    }, /has lost access to these records/)
  }
})

test('the newest record is the newest one at the hub', async () => {
  const gps = await people.get(`${path}/gps/latest`)
  assert.deepEqual(gps, (await people.get(`${path}/gps?limit=1`))[0])
  const battery = await people.get(`${path}/battery/latest`)
  assert.deepEqual([battery.timestamp, battery.battery_voltage], [toIso(START_MS + 120_000), 50.902])
  assert.equal((await people.get(`${path}/battery`)).length, 3)
})

test('a history is available in the formats of a gateway', async () => {
  const range = `from=${at(6998)}&to=${at(7001)}`
  const csv = await people.request('GET', `${path}/gps?${range}&format=csv&order=asc`)
  assert.equal(csv.headers.get('content-disposition'), 'attachment; filename="gps-cart-1.csv"')
  const [header, row] = csv.body.split('\r\n')
  assert.equal(header, '_id,device_id,hardware_id,timestamp,lat,long,speed')
  assert.match(row, /^[\w-]{20,24},k3,cart-1,/)
  assert.ok(row.endsWith(`,cart-1,${at(6998)},28.4106998,-81.58,12.4`))
  const lines = (await people.get(`${path}/gps?${range}&format=ndjson`)).trim().split('\n')
  assert.equal(lines.length, 4)
  const headers = { accept: 'application/gpx+xml' }
  const gpx = await people.get(`${path}/gps?limit=3`, { headers })
  assert.match(gpx, /<name>Cart &lt;1&gt;<\/name>/)
  const written = [...gpx.matchAll(/<time>([^<]+)<\/time>/g)].map(([, time]) => time)
  assert.deepEqual(written, [at(COUNT - 3), at(COUNT - 2), at(COUNT - 1)])
  assert.equal((await people.get(`${path}/gps?${range}&format=geojson`)).features.length, 4)
})

test('the hub rejects what a gateway rejects, with the same code', async () => {
  for (const [query, code] of [
    ['gps?from=2026-05-01', 'missing_parameter'],
    ['gps?from=2026-05-02&to=2026-05-01', 'invalid_range'],
    ['gps?from=yesterday&to=2026-05-01', 'invalid_date'],
    ['gps?limit=0', 'invalid_number'],
    ['gps?limit=10001', 'invalid_number'],
    ['gps?format=xml', 'invalid_format'],
    ['battery?format=gpx', 'invalid_format'],
    ['gps?order=up', 'invalid_parameter'],
  ] as const) {
    assert.deepEqual(await people.refusal('GET', `${path}/${query}`), [400, code], query)
  }
})

test('an empty history is an empty list', async () => {
  assert.deepEqual(await people.get(`${path}/gps?from=2020-01-01&to=2020-01-02`), [])
})

test('a device with records but without a state can be queried', async () => {
  const early = await hub.site()
  await early.pushRuns([{ hardwareId: 'new-1', stream: 'gps', records: gpsFrom(0, 3) }])
  for (const path of ['devices/new-1/gps', 'devices/new-1/gps/latest', 'trips/new-1?from=2026-05-01&to=2026-05-02']) {
    assert.equal((await people.request('GET', `${early.path}/${path}`)).status, 200, path)
  }
  const { body } = await people.request('GET', `${early.path}/devices/new-1/battery/latest`)
  assert.equal(body.code, 'no_telemetry')
  assert.equal((await people.request('GET', `${early.path}/devices/new-2/gps`)).body.code, 'device_not_found')
})
