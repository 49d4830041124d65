import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FakeClock } from '#shared/testing/clocks.ts'
import { DAY_MS, MINUTE_MS, toIso } from '#shared/time.ts'
import { fails, ok, pluck, publish, scene } from '#testing/scene.ts'
import { type Answer, startFor } from '#testing/start-gateway.ts'

const NOON_MS = Date.UTC(2026, 4, 1, 12)
const { g, clock, fresh, onlyFor } = scene({ nowMs: NOON_MS, devices: ['cart-1'], inScope: ['cart-1'] })
async function newDevice(): Promise<string> {
  const id = fresh('box-')
  await g.register(id)
  return id
}

const importTo = (id: string, body: unknown): Promise<Answer> => g.post(`/devices/${id}/telemetry/import`, body)
const fix = (atMs: number, rest: object = {}) => ({ timestamp: toIso(atMs), lat: 28.41, long: -81.58, ...rest })
const charge = (atMs: number, volts = 50.5) => ({ timestamp: toIso(atMs), battery_voltage: volts })

const recordsOf = async (id: string, stream = 'gps'): Promise<Record<string, unknown>[]> =>
  (await g.get(`/devices/${id}/${stream}?limit=10000&order=asc`)).body

async function stats(id: string): Promise<[gps: number, battery: number]> {
  const { body } = await g.get(`/devices/${id}/telemetry/stats`)
  return [body.gps, body.battery]
}

for (const id of ['cart-1', 'nowhere']) onlyFor('admins', ['POST', `/devices/${id}/telemetry/import`, {}])

test('an unknown device is 404', () => fails(importTo('nowhere', { gps: [fix(NOON_MS)] }), 404, 'device_not_found'))

const GOOD = fix(NOON_MS)
for (const [what, body, code] of [
  ['no JSON', '{', 'invalid_json'],
  ['a list', [], 'invalid_body'],
  ['a misspelt stream', { gsp: [] }, 'unknown_field'],
  ['a misspelt field', { gps: [{ ...GOOD, speeed: 1 }] }, 'unknown_field'],
  ['a record without a time', { gps: [GOOD, { lat: 1, long: 2 }] }, 'missing_field'],
  ['a record without a longitude', { gps: [{ timestamp: GOOD.timestamp, lat: 1 }] }, 'missing_field'],
  ['a latitude in quotes', { gps: [{ ...GOOD, lat: '28.4' }] }, 'invalid_field'],
  ['a time as a number', { gps: [{ ...GOOD, timestamp: NOON_MS }] }, 'invalid_field'],
  ['a speed of null', { gps: [{ ...GOOD, speed: null }] }, 'invalid_field'],
  ['an infinite latitude', JSON.stringify({ gps: [GOOD] }).replace('28.41', '1e999'), 'invalid_field'],
  ['a record that is null', { gps: [null] }, 'invalid_field'],
  ['a stream that is null', { gps: null }, 'invalid_field'],
  ['a battery record among positions', { gps: [charge(NOON_MS)] }, 'missing_field'],
  ['5,001 records of a stream', { battery: Array(5001).fill(charge(NOON_MS)) }, 'invalid_field'],
  [
    '5,001 records in all',
    {
      gps: Array(2500).fill({ timestamp: GOOD.timestamp, lat: 1, long: 2 }),
      battery: Array(2501).fill(charge(NOON_MS)),
    },
    'too_many_records',
  ],
] as const)
  test(`${what} is 400 ${code} and nothing is stored`, async () => {
    await fails(importTo('cart-1', body), 400, code)
    assert.deepEqual(await stats('cart-1'), [0, 0])
  })

test('more than half a megabyte is 413', () =>
  fails(importTo('cart-1', `{"gps":[]${' '.repeat(512 * 1024)}}`), 413, 'payload_too_large'))

test('another content type is 415', async () => {
  const path = '/devices/cart-1/telemetry/import'
  await fails(g.post(path, '{}', { headers: { 'content-type': 'text/csv' } }), 415, 'unsupported_media_type')
})

test('5,000 records with all fields fit into a body and are in the history after a restart', async () => {
  const id = await newDevice()
  const gps = Array.from({ length: 4000 }, (_, i) => fix(NOON_MS - i * 1000, { lat: -28.4101234, speed: 12.345 }))
  const battery = Array.from({ length: 1000 }, (_, i) => charge(NOON_MS - i * 1000, 50.123))
  const body = await ok(importTo(id, { gps, battery }))
  assert.deepEqual(body, {
    success: true,
    stored: { gps: 4000, battery: 1000 },
    duplicates: { gps: 0, battery: 0 },
    dropped: [],
  })
  for (const when of ['now', 'after a restart']) {
    if (when !== 'now') await g.restart()
    assert.deepEqual(await stats(id), [4000, 1000], when)
    const records = await recordsOf(id)
    assert.deepEqual(pluck(records, 'timestamp'), gps.map(({ timestamp }) => timestamp).reverse(), when)
    const { lat, long, speed } = records[0] ?? {}
    assert.deepEqual([lat, long, speed], [-28.4101234, -81.58, 12.345], when)
    const { telemetry } = (await g.get(`/devices/${id}/details`)).body
    assert.deepEqual(
      telemetry.gps,
      { count: 4000, first_at: toIso(NOON_MS - 3_999_000), last_at: toIso(NOON_MS) },
      when,
    )
  }
})

test('a record that exists already is a duplicate, and the stored one stays', async () => {
  const id = await newDevice()
  await importTo(id, { gps: [fix(NOON_MS), fix(NOON_MS - 1000)], battery: [charge(NOON_MS)] })
  const before = [await recordsOf(id), await recordsOf(id, 'battery')]
  const again = await importTo(id, {
    gps: [fix(NOON_MS, { lat: 1 }), fix(NOON_MS - 1000), fix(NOON_MS - 2000), fix(NOON_MS - 2000, { lat: 2 })],
    battery: [charge(NOON_MS, 1)],
  })
  assert.deepEqual(again.body.stored, { gps: 1, battery: 0 })
  assert.deepEqual(again.body.duplicates, { gps: 3, battery: 1 })
  assert.deepEqual((await recordsOf(id)).slice(1), before[0])
  assert.deepEqual(await recordsOf(id, 'battery'), before[1])
  assert.deepEqual(await stats(id), [3, 1])
})

test('a record that the device sent itself is a duplicate too', async () => {
  const id = fresh('box-')
  const client = await g.device(id)
  await publish(client, `dev/${id}/tlm`, { ts: NOON_MS, lat: 1, long: 2 })
  const { body } = await importTo(id, { gps: [fix(NOON_MS)] })
  assert.deepEqual(body.duplicates, { gps: 1, battery: 0 })
  assert.equal((await recordsOf(id))[0]?.lat, 1)
})

test('unusable records are counted by reason, and the rest is stored', async () => {
  const id = await newDevice()
  const aheadMs = clock.nowMs() + 5 * MINUTE_MS
  const body = await ok(
    importTo(id, {
      gps: [
        fix(aheadMs),
        fix(aheadMs + 1),
        fix(Date.UTC(2020, 0, 1)),
        fix(Date.UTC(2020, 0, 1) - 1),
        fix(Date.UTC(1996, 4, 1)),
        fix(NOON_MS, { lat: 0, long: 0 }),
        fix(NOON_MS, { lat: 90.0001 }),
        fix(NOON_MS, { long: -181, speed: -1 }),
        fix(NOON_MS, { speed: 200.1 }),
        fix(NOON_MS - 1, { speed: 200 }),
        { ...GOOD, timestamp: 'yesterday' },
        { ...GOOD, timestamp: '2026-02-30T00:00:00Z' },
      ],
      battery: [charge(NOON_MS, 120), charge(NOON_MS - 1, 120.1), charge(NOON_MS - 2, -1)],
    }),
  )
  assert.deepEqual(body.stored, { gps: 4, battery: 1 })
  assert.deepEqual(body.duplicates, { gps: 0, battery: 0 })
  const dropped = Object.fromEntries(
    body.dropped.map((one: { reason: string; count: number }) => [one.reason, one.count]),
  )
  assert.deepEqual(dropped, {
    implausible_time: 3,
    invalid_position: 3,
    invalid_battery_voltage: 2,
    invalid_time: 2,
    invalid_speed: 1,
  })
  assert.deepEqual(pluck(await recordsOf(id), 'timestamp', 'speed'), [
    ['2020-01-01T00:00:00.000Z', undefined],
    [toIso(NOON_MS - 1), 200],
    [toIso(NOON_MS), undefined],
    [toIso(aheadMs), undefined],
  ])
})

test('an import without usable records has the usual response', async () => {
  const id = await newDevice()
  for (const body of [{}, { gps: [] }, { gps: [], battery: [] }]) {
    const answer = await importTo(id, body)
    assert.equal(answer.status, 200)
    assert.deepEqual(answer.body.stored, { gps: 0, battery: 0 })
  }
  const { body } = await importTo(id, { gps: [{ ...GOOD, timestamp: '' }] })
  assert.deepEqual(body.dropped, [{ reason: 'invalid_time', count: 1 }])
})

test('an import advances the newest record only; attributes and live messages stay', async () => {
  const id = fresh('box-')
  const nowMs = clock.nowMs()
  const client = await g.device(id)
  const socket = await g.realtime()
  await socket.subscribe(id)
  await publish(client, `dev/${id}/tlm`, { ts: nowMs - 5000, lat: 1, long: 2 })
  await socket.next('device_data')
  const before = (await g.get(`/devices/${id}`)).body
  const latest = async () => (await g.get(`/devices/${id}/gps/latest`)).body.timestamp
  await importTo(id, { gps: [fix(nowMs - 60_000)] })
  assert.equal(await latest(), toIso(nowMs - 5000))
  await importTo(id, { gps: [fix(nowMs)], battery: [charge(nowMs - DAY_MS)] })
  assert.equal(await latest(), toIso(nowMs))
  assert.equal((await g.get(`/devices/${id}/battery/latest`)).body.timestamp, toIso(nowMs - DAY_MS))
  assert.deepEqual((await g.get(`/devices/${id}`)).body, before)
  // carts of other tests may have lost their signal meanwhile
  const about = (await socket.flush()).filter((message) => JSON.stringify(message).includes(`"${id}"`))
  assert.deepEqual(about, [])
})

test('an import for a device deleted meanwhile is 404 and stores nothing', async () => {
  const id = await newDevice()
  const [deleted, imported] = await Promise.all([g.remove(`/devices/${id}`), importTo(id, { gps: [fix(NOON_MS)] })])
  assert.equal(deleted.status, 200)
  assert.deepEqual([imported.status, imported.body.code], [404, 'device_not_found'])
  await g.register(id)
  assert.deepEqual(await stats(id), [0, 0])
  assert.deepEqual(await recordsOf(id), [])
})

test('while the gateway clock is untrusted, plausible times are accepted', async (t) => {
  const unset = await startFor(t, {}, { clock: new FakeClock(DAY_MS) })

  await unset.register('cart-1')
  const gps = [fix(NOON_MS), fix(Date.UTC(2099, 0, 1)), fix(Date.UTC(2100, 0, 2)), fix(DAY_MS)]
  const { body } = await unset.post('/devices/cart-1/telemetry/import', { gps })
  assert.deepEqual(body.stored, { gps: 2, battery: 0 })
  assert.deepEqual(body.dropped, [{ reason: 'implausible_time', count: 2 }])
})
