import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import { test } from 'node:test'
import { FakeClock } from '#shared/testing/clocks.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { DAY_MS, toIso } from '#shared/time.ts'
import { fails, ok, publish, publishAll, scene } from '#testing/scene.ts'
import { ADMIN_KEY, type Answer, startFor } from '#testing/start-gateway.ts'

const NOON_MS = Date.UTC(2026, 4, 1, 12)
const { g, clock, fresh, onlyFor } = scene({ nowMs: NOON_MS, devices: ['cart-1'], inScope: ['cart-1'] })
type Device = { id: string; password: string }

async function newDevice(): Promise<Device> {
  const id = fresh('box-')
  return { id, password: await g.register(id) }
}

async function send({ id, password }: Device, samples: readonly object[]): Promise<void> {
  const client = await g.connect(id, password)
  await publishAll(client, `dev/${id}/tlm`, samples)
  await client.endAsync()
}

const readings = (fromMs: number, count: number, stepMs = 1000): object[] =>
  Array.from({ length: count }, (_, i) => ({
    ts: fromMs + i * stepMs,
    lat: 1,
    long: 2,
    ...(i % 2 === 0 ? { battery_voltage: 3 } : {}),
  }))

const purge = (olderThanDays: unknown): Promise<Answer> =>
  g.post('/telemetry/purge', { older_than_days: olderThanDays })

async function stats(id: string): Promise<[gps: number, battery: number]> {
  const { body } = await g.get(`/devices/${id}/telemetry/stats`)
  return [body.gps, body.battery]
}

async function timesOf(id: string, stream = 'gps'): Promise<string[]> {
  const path = `/devices/${id}/${stream}?limit=10000&order=asc`
  const records: { timestamp: string }[] = (await g.get(path)).body
  return records.map(({ timestamp }) => timestamp)
}

/** Asserts that memory, counts and records agree on a device, now and after a restart. */
async function assertConsistent(id: string): Promise<void> {
  const times = { gps: await timesOf(id), battery: await timesOf(id, 'battery') }
  assert.deepEqual(await stats(id), [times.gps.length, times.battery.length])
  const { body } = await g.get(`/devices/${id}/details`)
  for (const stream of ['gps', 'battery'] as const) {
    assert.deepEqual(body.telemetry[stream], {
      count: times[stream].length,
      first_at: times[stream][0] ?? null,
      last_at: times[stream].at(-1) ?? null,
    })
    const latest = await g.get(`/devices/${id}/${stream}/latest`)
    if (times[stream].length > 0) assert.equal(latest.body.timestamp, times[stream].at(-1))
    else assert.deepEqual([latest.status, latest.body.code], [404, 'no_telemetry'])
  }
}

for (const path of ['cart-1/telemetry', 'cart-1/telemetry/gps', 'cart-1/telemetry/battery', 'nowhere/telemetry'])
  onlyFor('admins', ['DELETE', `/devices/${path}`])
onlyFor('admins', ['POST', '/telemetry/purge', { older_than_days: 'nonsense' }], ['GET', '/telemetry/months'])

for (const [what, body, code] of [
  ['0', { older_than_days: 0 }, 'invalid_field'],
  ['3651', { older_than_days: 3651 }, 'invalid_field'],
  ['-1', { older_than_days: -1 }, 'invalid_field'],
  ['1.5', { older_than_days: 1.5 }, 'invalid_field'],
  ['text', { older_than_days: '30' }, 'invalid_field'],
  ['null', { older_than_days: null }, 'invalid_field'],
  ['true', { older_than_days: true }, 'invalid_field'],
  ['a list', { older_than_days: [30] }, 'invalid_field'],
  ['nothing', {}, 'missing_field'],
  ['a misspelt name', { older_than_day: 30 }, 'missing_field'],
  ['a condition that does not exist', { older_than_days: 1, hardware_ids: ['cart-1'] }, 'unknown_field'],
  ['no JSON', '{', 'invalid_json'],
  ['a list instead of an object', [], 'invalid_body'],
] as const)
  test(`purge of ${what} is 400 ${code} and deletes nothing`, async () => {
    const device = await newDevice()
    await send(device, readings(NOON_MS - 400 * DAY_MS, 2))
    await fails(g.post('/telemetry/purge', body), 400, code)
    assert.deepEqual(await stats(device.id), [2, 1])
    await g.remove(`/devices/${device.id}/telemetry`)
  })

test('a purge deletes records measured before the cutoff, to the millisecond, and no others', async () => {
  const [old, both, fresh] = [await newDevice(), await newDevice(), await newDevice()]
  const cutoffMs = clock.nowMs() - 30 * DAY_MS
  await send(old, readings(cutoffMs - 10_000, 10))
  await send(both, readings(cutoffMs - 3, 6, 1))
  await send(fresh, readings(cutoffMs, 5))
  const total = (await g.get('/stats')).body.telemetry
  const before = (await g.get(`/devices/${old.id}`)).body
  const body = await ok(purge(30))
  assert.deepEqual(body, { success: true, cutoff_date: toIso(cutoffMs), purged: { gps: 13, battery: 7 } })
  assert.deepEqual(await stats(old.id), [0, 0])
  assert.deepEqual(
    await timesOf(both.id),
    [0, 1, 2].map((ms) => toIso(cutoffMs + ms)),
  )
  assert.deepEqual(await stats(fresh.id), [5, 3])
  assert.deepEqual((await g.get('/stats')).body.telemetry, { gps: total.gps - 13, battery: total.battery - 7 })
  // the state of a device is its last report, even if the record is deleted
  assert.deepEqual((await g.get(`/devices/${old.id}`)).body, before)
  assert.deepEqual((await purge(30)).body.purged, { gps: 0, battery: 0 })
  for (const { id } of [old, both, fresh]) await assertConsistent(id)
  await g.restart()
  for (const { id } of [old, both, fresh]) await assertConsistent(id)
})

test('lock events do not count as telemetry and stay', async () => {
  const device = await newDevice()
  const client = await g.connect(device.id, device.password)
  const event = { eid: 'e1', event: 'unlock', source: 'key', ts: NOON_MS - 100 * DAY_MS }
  await publish(client, `dev/${device.id}/evt`, event)
  await client.endAsync()
  await purge(1)
  await g.remove(`/devices/${device.id}/telemetry`)
  assert.equal((await g.get(`/lock-events?hardware_ids=${device.id}`)).body.events.length, 1)
})

test('concurrent purges each return their own count, and together the total', async () => {
  const device = await newDevice()
  await send(device, readings(clock.nowMs() - 50 * DAY_MS, 6000))
  const answers = await Promise.all([purge(40), purge(30), purge(30)])
  const gps = answers.map(({ body }) => body.purged.gps)
  assert.equal(
    gps.reduce((sum, count) => sum + count, 0),
    6000,
  )
  await assertConsistent(device.id)
})

test('a gateway that does not know the time rejects deletion by time', async (t) => {
  const wrong = new FakeClock(NOON_MS)
  const own = await startFor(t, {}, { clock: wrong, isTimeSynchronized: () => false })

  wrong.set(0)
  await fails(own.post('/telemetry/purge', { older_than_days: 1 }), 409, 'clock_not_set')
  await own.register('cart-1')
  await ok(own.remove('/devices/cart-1/telemetry'))
  wrong.set(NOON_MS)
  await ok(own.post('/telemetry/purge', { older_than_days: 1 }))
})

test('all records of a device are deleted, or those of one stream, by either id', async () => {
  const [mine, other] = [await newDevice(), await newDevice()]
  for (const device of [mine, other]) await send(device, readings(NOON_MS - DAY_MS, 1200))
  const shortId = (await g.get(`/devices/${mine.id}`)).body.short_id

  assert.deepEqual(await ok(g.remove(`/devices/${shortId}/telemetry/battery`)), { success: true, deleted: 600 })
  assert.deepEqual(await stats(mine.id), [1200, 0])
  await assertConsistent(mine.id)

  const all = await g.remove(`/devices/${mine.id}/telemetry`)
  assert.deepEqual(all.body, { success: true, purged: { gps: 1200, battery: 0 } })
  await assertConsistent(mine.id)

  assert.deepEqual(await ok(g.remove(`/devices/${mine.id}/telemetry/gps`)), { success: true, deleted: 0 })
  const zeros = await g.remove(`/devices/${mine.id}/telemetry`)
  assert.deepEqual(zeros.body, { success: true, purged: { gps: 0, battery: 0 } })
  assert.deepEqual(await stats(other.id), [1200, 600])

  // a late reading is then the newest record
  await send(mine, readings(NOON_MS - 5 * DAY_MS, 1))
  await assertConsistent(mine.id)
  assert.deepEqual(await stats(mine.id), [1, 1])
})

test('deleting records of an unknown device is 404', async () => {
  for (const path of ['', '/gps', '/battery'])
    await fails(g.remove(`/devices/nowhere/telemetry${path}`), 404, 'device_not_found')
})

test('records sent while others are deleted are each deleted or counted, never both', async () => {
  const device = await newDevice()
  await send(device, readings(NOON_MS - DAY_MS, 4000))
  const client = await g.connect(device.id, device.password)
  let isDone = false
  let sent = 0
  const sending = (async () => {
    while (!isDone) {
      // occasionally older than all existing records
      const ts = sent % 5 === 0 ? NOON_MS - 2 * DAY_MS + sent : clock.nowMs() - 100_000 + sent
      await publish(client, `dev/${device.id}/tlm`, { ts, lat: 1, long: 1 })
      sent++
    }
  })()
  let deleted = 0
  while (sent < 200) {
    const { body } = await g.remove(`/devices/${device.id}/telemetry/gps`)
    deleted += body.deleted
  }
  isDone = true
  await sending
  assert.equal((await stats(device.id))[0], 4000 + sent - deleted)
  await assertConsistent(device.id)
  await g.restart()
  await assertConsistent(device.id)
})

test('acknowledgements and a long download continue during a purge', async () => {
  const [old, live] = [await newDevice(), await newDevice()]
  await send(old, readings(NOON_MS - 90 * DAY_MS, 20_000))
  await send(live, readings(NOON_MS - 90 * DAY_MS, 20_000))
  await send(live, readings(NOON_MS - 20 * DAY_MS, 3000))
  const client = await g.connect(live.id, live.password)
  let isDone = false
  let [acknowledged, longestMs] = [0, 0]
  const sending = (async () => {
    while (!isDone) {
      const startedAtMs = performance.now()
      await publish(client, `dev/${live.id}/tlm`, { lat: 1, long: 1 })
      longestMs = Math.max(longestMs, performance.now() - startedAtMs)
      acknowledged++
    }
  })()
  const url = `${g.http}/devices/${live.id}/gps?from=2026-01-01&to=2026-04-30&format=ndjson`
  const download = await fetch(url, { headers: { 'x-api-key': ADMIN_KEY } })
  const { body } = await purge(60)
  isDone = true
  await sending
  assert.deepEqual(body.purged, { gps: 40_000, battery: 20_000 })
  assert.ok(acknowledged > 10, `${acknowledged} acknowledged`)
  assert.ok(longestMs < 15_000, `${longestMs} ms for one`)
  const lines = (await download.text()).trimEnd().split('\n')
  const times: string[] = lines.map((line) => JSON.parse(line).timestamp)
  // newest first: remaining records come before purged ones
  assert.ok(times.length >= 3000, `${times.length} records`)
  assert.deepEqual(times, times.toSorted().toReversed())
  assert.equal((await stats(live.id))[0], 3000 + acknowledged)
})

test('a purge continues when its client disconnects', async () => {
  const device = await newDevice()
  await send(device, readings(NOON_MS - 90 * DAY_MS, 10_000))
  const request = httpRequest(`${g.http}/telemetry/purge`, {
    method: 'POST',
    headers: { 'x-api-key': ADMIN_KEY, 'content-type': 'application/json' },
  })
  request.on('error', () => undefined)
  request.end('{"older_than_days":60}')
  await eventually(async () => (await stats(device.id))[0] < 10_000, 'it has begun')
  request.destroy()
  const latest = () => g.get(`/devices/${device.id}/gps/latest`)
  await eventually(async () => (await latest()).status === 404, 'it is done')
  await assertConsistent(device.id)
})
