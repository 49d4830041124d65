import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import type { MqttClient } from 'mqtt'
import { FakeClock } from '#shared/testing/clocks.ts'
import { Ride } from '#shared/testing/ride.ts'
import { MINUTE_MS } from '#shared/time.ts'
import type { GpsRecord } from '#shared/trips/track.ts'
import type { TrafficJson, UtilisationRowJson } from '#shared/wire/reports.ts'
import { circle, collection } from '#testing/course/features.ts'
import { fails, ok, pluck, publish, publishAll, scene } from '#testing/scene.ts'
import { startFor } from '#testing/start-gateway.ts'

const BARN = { lat: 36.568, long: -121.95 }
const PARKING = circle('barn', { name: 'Barn', radius_m: 50, at: [BARN.long, BARN.lat] })
/** Noon in Berlin, on the day after the clocks went forward. */
const NOW_MS = Date.UTC(2026, 2, 30, 10)
const { g, onlyFor } = scene({ nowMs: NOW_MS, inScope: ['lock-7'] })
let staff: string

/** Morning in Berlin: an hour at the barn, an hour out, an hour at the barn. */
const outing = (day: number, { hourUtc = 7, meanwhileS = 0 } = {}): Ride =>
  new Ride({ atMs: Date.UTC(2026, 2, day, hourUtc), ...BARN })
    .wait(3600, 60)
    .drive(1800, 12, 5)
    .later(meanwhileS)
    .drive(1800, 12, 5, { headingDeg: 180 })
    .wait(3600, 60)

async function send(
  hardwareId: string,
  fixes: readonly GpsRecord[],
  voltageOf: (fix: GpsRecord) => number | undefined = () => undefined,
): Promise<void> {
  const client = await g.connect(hardwareId, passwords.get(hardwareId) ?? '')
  const samples = fixes.map((fix) => {
    const volts = voltageOf(fix)
    const { atMs, lat, long, speedKmh } = fix
    return { ts: atMs, lat, long, speed: speedKmh, ...(volts === undefined ? {} : { battery_voltage: volts }) }
  })
  await publishAll(client, `dev/${hardwareId}/tlm`, samples)
  await client.endAsync()
}

const passwords = new Map<string, string>()

async function register(hardwareId: string, cart: string, deviceType = 'teebox'): Promise<void> {
  passwords.set(hardwareId, await g.register(hardwareId, deviceType))
  await g.patch(`/devices/${hardwareId}`, { cart })
}

before(async () => {
  await g.patch('/site', { time_zone: 'Europe/Berlin' })
  const hole = circle('hole-4', {
    name: 'Four',
    type: 'hole',
    hole: 4,
    radius_m: 900,
    at: [BARN.long, BARN.lat + 0.03],
  })
  await g.put('/zones', collection(PARKING, hole), { headers: { 'if-match': '*' } })
  await register('lock-7', '7')
  await register('screen-7', '7', 'cartcaddie')
  await register('lock-8', '8')
  await register('lock-10', '10')
  const ride = outing(27).record().records
  await send('lock-7', ride, ({ speedKmh }) => ((speedKmh ?? 0) > 3 ? 47.5 : 50.25))
  // the screen reports the same three seconds later with a different voltage; it is in the same cart and does not
  // determine its position
  await send(
    'screen-7',
    ride.map((fix) => ({ ...fix, atMs: fix.atMs + 3000 })),
    () => 12,
  )
  // loses its signal for 40 minutes on the course
  await send('lock-8', outing(27, { meanwhileS: 2400 }).record().records)
  // out during the night of the clock change: 22:00 to 02:00 UTC, from 23:00 on the 28th
  await send(
    'lock-10',
    new Ride({ atMs: Date.UTC(2026, 2, 28, 21), ...BARN })
      .wait(3600, 60)
      .drive(7200, 10, 30)
      .drive(7200, 10, 30, { headingDeg: 180 })
      .wait(600, 60)
      .record().records,
  )
  staff = (await g.createUser({ name: 'Half', role: 'staff', allowed_hardware_ids: ['screen-7'] })).key
})

const get = async (path: string, key?: string) => ok(g.request('GET', path, key === undefined ? {} : { key }))
const RANGE = 'from=2026-03-27&to=2026-03-30'
const MONTHLY = ['/reports/utilisation', '/reports/battery']
const MAPS = ['/reports/traffic', '/reports/silence']

describe('access', () => {
  for (const path of [...MONTHLY.map((p) => `${p}?month=2026-03`), ...MAPS.map((p) => `${p}?${RANGE}`)])
    onlyFor('staff', ['GET', path])

  test('staff see the carts in scope, with data of their devices in scope only', async () => {
    const { rows } = await get('/reports/battery?month=2026-03', staff)
    assert.deepEqual(rows, [{ cart: '7', date: '2026-03-27', rest_voltage_morning: 12, lowest_voltage: 12 }])
    const { rows: used } = await get('/reports/utilisation?month=2026-03', staff)
    assert.deepEqual(pluck(used, 'cart'), ['7'])
  })
})

for (const path of MONTHLY) {
  for (const [query, code] of [
    ['', 'missing_parameter'],
    ['?month=', 'invalid_month'],
    ['?month=2026-13', 'invalid_month'],
    ['?month=2026-5', 'invalid_month'],
    ['?month=2026-05-01', 'invalid_month'],
    ['?month=2026-03&format=xml', 'invalid_format'],
  ])
    test(`${path}${query} is 400 ${code}`, () => fails(g.get(path + query), 400, code))

  for (const month of ['2026-04', '2099-12', '2026-02', '1969-12'])
    test(`${path} of ${month} is empty`, async () => {
      const body = await get(`${path}?month=${month}`)
      assert.deepEqual(body, { month, time_zone: 'Europe/Berlin', rows: [] })
    })
}

for (const path of MAPS)
  for (const [query, code] of [
    ['', 'missing_parameter'],
    ['?from=2026-03-01', 'missing_parameter'],
    ['?from=2026-03-02&to=2026-03-01', 'invalid_range'],
    ['?from=yesterday&to=2026-03-01', 'invalid_date'],
    ['?from=2026-01-01&to=2026-03-01', 'range_too_large'],
  ])
    test(`${path}${query} is 400 ${code}`, () => fails(g.get(path + query), 400, code))

test('utilisation is listed by cart in natural order and by local day', async () => {
  const { rows } = await get('/reports/utilisation?month=2026-03')
  assert.deepEqual(
    rows.map(({ cart, date }: UtilisationRowJson) => `${cart} ${date}`),
    ['7 2026-03-27', '8 2026-03-27', '10 2026-03-28', '10 2026-03-29'],
  )
  const [seven, eight, before, night] = rows
  // out from the first fix beyond the barn to the first one in it, over 12 km
  near(seven.hours_out, 1, 0.02)
  near(seven.distance, 12_000, 30)
  // of the 40 minutes without a signal 15 count
  near(eight.hours_out, 1.25, 0.02)
  // from 23:00 to midnight, then until 04:00 by clocks that skipped an hour
  near(before.hours_out, 1, 0.02)
  near(night.hours_out, 3, 0.02)
  near(before.distance + night.distance, 40_000, 200)
  // counted on the day of their start, however often they pass midnight
  assert.deepEqual(pluck(rows, 'rounds'), [1, 1, 1, 0])
  const { rounds } = await get('/rounds?from=2026-03-01&to=2026-03-30')
  assert.equal(rounds.length, 3)
})

test('a day of 25 hours is counted in full', async (t) => {
  const other = new FakeClock(Date.UTC(2026, 9, 27))
  const fresh = await startFor(t, {}, { clock: other })

  await fresh.patch('/site', { time_zone: 'Europe/Berlin' })
  const client = await fresh.device('cart-1')
  // without a parking zone a cart is out while it is on a trip: from 23:30 to 00:30, 26 hours later
  const fixes = new Ride({ atMs: Date.UTC(2026, 9, 24, 21, 30), ...BARN }).drive(26 * 3600, 10, 60).record()
  const samples = fixes.records.map(({ atMs, lat, long, speedKmh }) => ({ ts: atMs, lat, long, speed: speedKmh }))
  await publishAll(client, 'dev/cart-1/tlm', samples)
  const { body } = await fresh.get('/reports/utilisation?month=2026-10')
  assert.deepEqual(
    body.rows.map(({ date, hours_out }: UtilisationRowJson) => [date, Math.round(hours_out * 10) / 10]),
    [
      ['2026-10-24', 0.5],
      ['2026-10-25', 25],
      ['2026-10-26', 0.5],
    ],
  )
})

test('the state of carts at the start of a month comes from their history before it', async (t) => {
  const midnightMs = Date.UTC(2026, 2, 1)
  const fresh = await startFor(t, {}, { clock: new FakeClock(midnightMs + 12 * 60 * MINUTE_MS) })

  await fresh.put('/zones', collection(PARKING), { headers: { 'if-match': '*' } })
  const clients = new Map<string, MqttClient>()
  const say = async (id: string, samples: readonly object[]) => {
    const client = clients.get(id) ?? (await fresh.device(id))
    clients.set(id, client)
    await publishAll(client, `dev/${id}/tlm`, samples)
  }
  const fixes = (ride: Ride, volts = 50.25) =>
    ride.record().records.map(({ atMs, lat, long, speedKmh }) => ({
      ts: atMs,
      lat,
      long,
      speed: speedKmh,
      battery_voltage: volts,
    }))
  const minutes = (count: number) => midnightMs + count * MINUTE_MS
  // out since half past eleven, without a signal from two minutes before midnight to eight after, back at 00:38
  const out = new Ride({ atMs: minutes(-120), ...BARN })
    .wait(3600, 60)
    .drive(1800, 12, 5)
    .wait(1680, 60)
    .later(600)
    .drive(1800, 12, 5, { headingDeg: 180 })
    .wait(600, 60)
  await say('out', fixes(out))
  // in the barn all night; the first fix of the month is a receiver error
  await say('in', fixes(new Ride({ atMs: minutes(-180), ...BARN }).wait(7200, 60)))
  await say('in', [{ ts: minutes(2), lat: BARN.lat + 0.01, long: BARN.long, speed: 0 }])
  await say('in', fixes(new Ride({ atMs: minutes(4), ...BARN }).wait(1200, 60)))
  // last seen at eleven; reports its voltage at 00:02 and drives off
  await say('pack', fixes(new Ride({ atMs: minutes(-180), ...BARN }).wait(7200, 60)))
  await say('pack', [{ ts: minutes(2), battery_voltage: 50.5 }])
  await say('pack', fixes(new Ride({ atMs: minutes(3), ...BARN }).drive(600, 12, 5), 47.5))
  const of = (cart: string, { rows }: { rows: UtilisationRowJson[] }) => rows.find((row) => row.cart === cart)
  const { body: use } = await fresh.get('/reports/utilisation?month=2026-03')
  near(of('out', use)?.hours_out ?? 0, 38 / 60, 0.02)
  assert.equal(of('in', use)?.hours_out, 0)
  const { body: packs } = await fresh.get('/reports/battery?month=2026-03')
  assert.deepEqual(of('pack', packs), {
    cart: 'pack',
    date: '2026-03-01',
    rest_voltage_morning: 50.5,
    lowest_voltage: 47.5,
  })
  const range = 'from=2026-03-01T00:00:00Z&to=2026-03-01T11:00:00Z'
  const { body: traffic } = await fresh.get(`/reports/traffic?${range}`)
  // of the two that were out: one for 38 minutes, and one from 00:03 until it counts as without a signal
  near(traffic.seconds, 38 * 60 + 600 + 900, 60)
})

test('the battery report uses the voltages of the lock', async () => {
  const { month, time_zone, rows } = await get('/reports/battery?month=2026-03')
  assert.deepEqual([month, time_zone], ['2026-03', 'Europe/Berlin'])
  assert.deepEqual(rows, [{ cart: '7', date: '2026-03-27', rest_voltage_morning: 50.25, lowest_voltage: 47.5 }])
})

test('monthly reports as CSV have the same names and rows', async () => {
  for (const [path, name, columns] of [
    ['/reports/utilisation', 'utilisation', 'cart,date,hours_out,distance,rounds'],
    ['/reports/battery', 'battery', 'cart,date,rest_voltage_morning,lowest_voltage'],
  ]) {
    const { rows } = await get(`${path}?month=2026-03`)
    const lines = rows.map((row: object) => Object.values(row).join(','))
    const expected = `${[columns, ...lines].join('\r\n')}\r\n`
    const byFormat = await g.get(`${path}?month=2026-03&format=csv`)
    const byAccept = await g.get(`${path}?month=2026-03`, { headers: { accept: 'text/csv' } })
    for (const { status, headers, body } of [byFormat, byAccept]) {
      assert.equal(status, 200)
      assert.match(headers.get('content-type') ?? '', /^text\/csv/)
      assert.equal(headers.get('content-disposition'), `attachment; filename="${name}-2026-03.csv"`)
      assert.equal(body, expected)
    }
  }
})

test('the traffic map counts the seconds that carts on the course spent in each place', async () => {
  const { cell_m, seconds, cells }: TrafficJson = await get(
    '/reports/traffic?from=2026-03-27T00:00:00Z&to=2026-03-27T23:59:59Z',
  )
  assert.ok(cell_m > 7 && cell_m < 8, `${cell_m}`)
  // an hour of one cart, and of the other also the 15 minutes that count of its signal loss
  near(seconds, 2 * 3600 + 900, 120)
  assert.equal(
    seconds,
    cells.reduce((sum, cell) => sum + cell.seconds, 0),
  )
  for (const { lat, long } of cells) {
    assert.ok(lat > BARN.lat && lat < BARN.lat + 0.06, `${lat}`)
    assert.ok(Math.abs(long - BARN.long) < 0.001, `${long}`)
  }
  const nothing = await get('/reports/traffic?from=2026-03-01&to=2026-03-02')
  assert.deepEqual([nothing.seconds, nothing.cells], [0, []])
  const future = await get('/reports/traffic?from=2027-03-01&to=2027-03-02')
  assert.deepEqual([future.seconds, future.cells], [0, []])
})

test('a cart without signal on the course is on the map of signal loss', async () => {
  const { silent_after_s, total, silences } = await get(
    '/reports/silence?from=2026-03-27T00:00:00Z&to=2026-03-27T23:59:59Z',
  )
  assert.deepEqual([silent_after_s, total, silences.length], [900, 1, 1])
  const [{ cart, at, until, duration, lat }] = silences
  assert.deepEqual([cart, at, until], ['8', '2026-03-27T08:29:55.000Z', '2026-03-27T09:10:00.000Z'])
  assert.equal(duration, 2405)
  near(lat, BARN.lat + 0.0539, 0.001)
})

test('a cart that reports its voltage meanwhile counts as having a signal', async () => {
  const reading = (atMs: number) => ({ ts: atMs, battery_voltage: 48 })
  const client = await g.connect('lock-8', passwords.get('lock-8') ?? '')
  const from = Date.UTC(2026, 2, 27, 8, 30)
  const payload = JSON.stringify([reading(from + 12 * MINUTE_MS), reading(from + 26 * MINUTE_MS)])
  await publish(client, 'dev/lock-8/tlm', payload)
  assert.equal((await get(`/reports/silence?${RANGE}`)).total, 0)
})

test('a user may run as many reports at a time as downloads', async () => {
  const four = Array.from({ length: 8 }, () => g.get('/reports/utilisation?month=2026-03'))
  const answers = await Promise.all(four)
  const refused = answers.filter(({ status }) => status === 429)
  assert.equal(refused.length, 4)
  for (const { body } of refused) assert.equal(body.code, 'too_many_downloads')
  await ok(g.get('/reports/utilisation?month=2026-03'))
})

function near(value: number, expected: number, off: number): void {
  assert.ok(Math.abs(value - expected) <= off, `${value} is not near ${expected}`)
}
