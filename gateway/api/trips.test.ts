import assert from 'node:assert/strict'
import { before, beforeEach, test } from 'node:test'
import { checkList } from '#shared/testing/list-rules.ts'
import { Ride } from '#shared/testing/ride.ts'
import { MINUTE_MS, toIso } from '#shared/time.ts'
import { DEFAULT_TRIP_CONFIG } from '#shared/trips/config.ts'
import type { TripJson } from '#shared/wire/trips.ts'
import type { Who } from '#testing/callers.ts'
import { sendTrack } from '#testing/course/sent-track.ts'
import { fails, ok, pluck, scene } from '#testing/scene.ts'

const DAY_MS = 24 * 60 * MINUTE_MS
const MORNING_MS = Date.UTC(2026, 4, 4, 8)
const NOW_MS = MORNING_MS + 60 * MINUTE_MS
const { g, clock, keys, onlyFor } = scene({ nowMs: NOW_MS, inScope: ['cart-1', 'cart-2'], isStill: true })
const DEVICES_TOO_MANY = Array.from({ length: 51 }, (_, i) => `cart-${i}`)

/** Movements of each device; other devices have none. */
const TRACKS: Record<string, Ride['records']> = {
  // two trips with stops around them; the last segment is in progress at noon
  'cart-1': new Ride().wait(300).drive(610, 15.1234, 10).wait(300).drive(610, 15.1234, 10).wait(300).record().records,
  'cart-2': new Ride({ atMs: MORNING_MS + 5 * MINUTE_MS, lat: 36.6, long: -121.9 })
    .drive(600, 20, 10)
    .wait(600)
    .record().records,
  'cart-3': new Ride({ atMs: MORNING_MS, lat: 36.6, long: -121.9 }).wait(3600).record().records,
  // driving now
  'cart-4': new Ride({ atMs: NOW_MS - 400_000, lat: 36.7, long: -121.9 }).drive(400, 18, 10).record({ speedKmh: 18 })
    .records,
  'single-fix': [{ atMs: MORNING_MS, lat: 1, long: 1, speedKmh: 10 }],
  'same-time': [1, 2, 3].map((lat) => ({ atMs: MORNING_MS, lat, long: 1, speedKmh: 10 })),
  'two-years': [
    ...new Ride({ atMs: NOW_MS - 730 * DAY_MS, lat: 1, long: 1 }).drive(600, 20, 10).record().records,
    ...new Ride({ atMs: NOW_MS - DAY_MS, lat: 1, long: 1 }).drive(600, 20, 10).record().records,
  ],
}
const DEVICES = ['..-silent', ...Object.keys(TRACKS)].sort()

before(async () => {
  for (const hardwareId of DEVICES) {
    const client = await g.device(hardwareId)
    const fixes = (TRACKS[hardwareId] ?? []).map(({ speedKmh, ...fix }) => ({ ...fix, speed: speedKmh }))
    await sendTrack(client, hardwareId, fixes)
  }
})
beforeEach(() => clock.set(NOW_MS))

const RANGE = 'from=2026-05-04&to=2026-05-05'

const ask = async (path: string, who: Who = 'admin', headers: Record<string, string> = {}) =>
  g.get(path, { key: keys[who], headers })

const get = async (path: string, who: Who = 'admin') => ok(ask(path, who))
const LISTS = [`/trips?${RANGE}&hardware_ids=cart-1`, '/trips/active?hardware_ids=cart-1']
const OF_DEVICE = ['', '/active', '/summary'].map((end) => `/trips/cart-1${end}?${end === '' ? RANGE : ''}`)

for (const path of [...LISTS, ...OF_DEVICE]) {
  onlyFor(LISTS.includes(path) ? 'any key' : 'those in scope', ['GET', path])
  for (const who of ['in scope', 'admin'] as const) test(`${path}: ${who} gets a response`, () => get(path, who))
}

for (const path of [`/trips?${RANGE}`, '/trips/active?']) {
  for (const [who, query, queried] of [
    ['in scope', 'hardware_ids=cart-1', 1],
    ['in scope', 'hardware_ids=cart-1,cart-2,cart-1', 2],
    ['in scope', 'hardware_ids=cart-1&hardware_ids=cart-3,nowhere', 1],
    ['in scope', 'hardware_ids=cart-3', 0],
    ['out of scope', 'hardware_ids=cart-1', 0],
    ['no scope', 'hardware_ids=cart-1,cart-2', 0],
    ['admin', 'hardware_ids=cart-1,cart-3,nowhere,', 2],
    ['admin', '', DEVICES.length],
  ] as const)
    test(`${path}&${query}: ${who} queries ${queried} devices`, async () => {
      const { summary } = await get(`${path}&${query}`, who)
      assert.equal(summary.devicesQueried, queried)
    })
  for (const who of ['in scope', 'no scope'] as const)
    test(`${path}: ${who} must name devices`, async () => {
      const body = await fails(ask(path, who), 400, 'missing_parameter')
      assert.equal(body.errors[0].name, 'hardware_ids')
    })
}

test('the trips of a device are its drives between stops', async () => {
  const { trips, stops, summary } = await get(`/trips/cart-1?${RANGE}`)
  const at = (seconds: number) => toIso(MORNING_MS + seconds * 1000)
  assert.deepEqual(pluck(trips, 'hardware_id', 'startTime', 'endTime', 'distance', 'pointCount'), [
    ['cart-1', at(300), at(910), 2562.6, 62],
    ['cart-1', at(1210), at(1820), 2562.6, 62],
  ])
  assert.deepEqual(pluck(stops, 'hardware_id', 'startTime', 'endTime', 'duration'), [
    ['cart-1', at(0), at(300), 300],
    ['cart-1', at(910), at(1210), 300],
    ['cart-1', at(1820), at(2120), 300],
  ])
  assert.deepEqual(summary, {
    totalTrips: 2,
    totalStops: 3,
    totalDistance: 5125.2,
    totalDuration: 1220,
    totalStopDuration: 900,
    positionsAnalyzed: TRACKS['cart-1']?.length,
    configUsed: DEFAULT_TRIP_CONFIG,
  })
})

test('the list of many devices equals their single lists, sorted by time and then by device', async () => {
  const all = await get(`/trips?${RANGE}&hardware_ids=cart-2,cart-1,cart-3,..-silent`)
  const each = await Promise.all(['..-silent', 'cart-1', 'cart-2', 'cart-3'].map((id) => get(`/trips/${id}?${RANGE}`)))
  for (const list of ['trips', 'stops'] as const) {
    const expected: TripJson[] = each.flatMap((one) => one[list])
    expected.sort((a, b) => Date.parse(a.startTime) - Date.parse(b.startTime))
    assert.deepEqual(all[list], expected)
  }
  assert.deepEqual(pluck(all.trips, 'hardware_id'), ['cart-1', 'cart-2', 'cart-1'])
  assert.deepEqual(Object.keys(all.summary), [
    'totalTrips',
    'totalStops',
    'totalDistance',
    'totalDuration',
    'totalStopDuration',
    'positionsAnalyzed',
    'devicesQueried',
    'configUsed',
  ])
  assert.equal(all.summary.totalTrips, 3)
  assert.equal(
    all.summary.positionsAnalyzed,
    each.reduce((sum, { summary }) => sum + summary.positionsAnalyzed, 0),
  )
})

test('order=desc reverses a list and is rejected for maps', async () => {
  for (const path of [`/trips/cart-1?${RANGE}`, `/trips?${RANGE}&hardware_ids=cart-1,cart-2,cart-3`]) {
    const ascending = await get(path)
    assert.ok(ascending.trips.length > 1)
    const descending = await get(`${path}&order=desc`)
    const { trips, stops, summary } = ascending
    assert.deepEqual(descending, { trips: trips.toReversed(), stops: stops.toReversed(), summary })
    assert.deepEqual(await get(`${path}&order=asc`), ascending)
    for (const order of ['DESC', 'newest', ''])
      assert.deepEqual((await ask(`${path}&order=${order}`)).body.code, 'invalid_parameter')
    const accept = 'application/geo+json'
    await fails(ask(`${path}&order=desc`, 'admin', { accept }), 400, 'invalid_parameter')
    await ok(ask(`${path}&order=asc`, 'admin', { accept }))
    const asked = (list: string, headers?: Record<string, string>) => ask(list, 'admin', headers)
    assert.equal(await checkList(asked, path, 'trips'), ascending.trips.length)
  }
})

test('a short id works like the hardware id', async () => {
  const { short_id } = await get('/devices/cart-1')
  for (const path of [`?${RANGE}`, '/active', '/summary'])
    assert.deepEqual(await get(`/trips/${short_id}${path}`), await get(`/trips/cart-1${path}`))
})

test('an unknown device is 404 for every caller', async () => {
  for (const path of [`/trips/nowhere?${RANGE}`, '/trips/nowhere/active', '/trips/nowhere/summary'])
    for (const who of ['admin', 'in scope', 'no scope'] as const) await fails(ask(path, who), 404, 'device_not_found')
})

for (const [id, trips, stops, positions] of [
  ['..-silent', 0, 0, 0],
  ['single-fix', 0, 0, 1],
  ['same-time', 0, 0, 1],
  ['cart-3', 0, 1, 121],
] as const)
  test(`${id}: ${trips} trips and ${stops} stops of ${positions} positions`, async () => {
    const body = await get(`/trips/${id}?${RANGE}`)
    assert.deepEqual([body.trips.length, body.stops.length], [trips, stops])
    assert.equal(body.summary.positionsAnalyzed, positions)
  })

test('years without data between two trips lie outside of every range', async () => {
  const found = async (fromMs: number) => {
    const query = `from=${toIso(fromMs)}&to=${toIso(fromMs + 31 * DAY_MS)}`
    return (await get(`/trips/two-years?${query}`)).trips.length
  }
  assert.deepEqual([await found(NOW_MS - 731 * DAY_MS), await found(NOW_MS - 31 * DAY_MS)], [1, 1])
  assert.equal(await found(NOW_MS - 400 * DAY_MS), 0)
  assert.equal(await found(Date.UTC(1996, 0, 1)), 0)
})

test('records exactly at from and to belong to the range, and those right outside do not', async () => {
  const positions = async (fromMs: number, toMs: number) => {
    const { summary } = await get(`/trips/cart-3?from=${toIso(fromMs)}&to=${toIso(toMs)}`)
    return summary.positionsAnalyzed
  }
  const endMs = MORNING_MS + 60 * MINUTE_MS
  assert.equal(await positions(MORNING_MS, endMs), 121)
  assert.equal(await positions(MORNING_MS + 1, endMs), 120)
  assert.equal(await positions(MORNING_MS, endMs - 1), 120)
  assert.equal(await positions(MORNING_MS, MORNING_MS), 1)
})

test('a trip has as many points as the history between its start and end', async () => {
  const { trips } = await get(`/trips?${RANGE}&hardware_ids=cart-1,cart-2`)
  for (const { hardware_id, startTime, endTime, pointCount } of trips) {
    const records = await get(`/devices/${hardware_id}/gps?from=${startTime}&to=${endTime}`)
    assert.equal(records.length, pointCount)
  }
})

const LONGEST = `from=${toIso(MORNING_MS)}&to=${toIso(MORNING_MS + 31 * DAY_MS)}`
const TOO_LONG = `from=${toIso(MORNING_MS)}&to=${toIso(MORNING_MS + 31 * DAY_MS + 1)}`

for (const path of ['/trips', '/trips/cart-1', '/trips/cart-1/summary']) {
  test(`${path}: a range may have 31 days and not a millisecond more`, async () => {
    await get(`${path}?${LONGEST}`)
    await fails(ask(`${path}?${TOO_LONG}`), 400, 'range_too_large')
  })

  for (const [query, code, name] of [
    ['from=2026-05-05&to=2026-05-04', 'invalid_range', 'from'],
    ['from=2026-05-05', 'missing_parameter', 'to'],
    ['to=2026-05-05', 'missing_parameter', 'from'],
    ['from=1777881600000&to=2026-05-05', 'invalid_date', 'from'],
    ['from=2026-02-30&to=2026-05-05', 'invalid_date', 'from'],
    ['from=&to=2026-05-05', 'invalid_date', 'from'],
    ['from=2026-05-04&from=2026-05-05&to=2026-05-05', 'invalid_parameter', 'from'],
  ] as const)
    test(`${path}?${query} is ${code}`, async () => {
      const { status, body } = await ask(`${path}?${query}`)
      assert.deepEqual([status, body.code, body.errors[0].name], [400, code, name])
    })
}

for (const path of [
  `/trips?${RANGE}`,
  `/trips/cart-1?${RANGE}`,
  `/trips/cart-1/summary?${RANGE}`,
  '/trips/active?',
  '/trips/cart-1/active?',
])
  for (const name of Object.keys(DEFAULT_TRIP_CONFIG))
    test(`${path}: ${name} must be a number from 0 on`, async () => {
      for (const value of ['-1', 'x', '', '1e3', 'NaN', 'Infinity', '0x10', '1,5', ' 1', '1&x=', '.5']) {
        const isFine = value.startsWith('1&')
        const { status, body } = await ask(`${path}&${name}=${value}`)
        assert.equal(status, isFine ? 200 : 400, value)
        if (!isFine) assert.deepEqual([body.code, body.errors[0].name], ['invalid_number', name])
      }
      const { summary, ...others } = await get(`${path}&${name}=0.5`)
      const used = summary?.configUsed
      // the summary of a single device omits it
      if (summary === undefined) assert.equal(others.hardware_id, 'cart-1')
      else assert.deepEqual(used, { ...DEFAULT_TRIP_CONFIG, [name]: 0.5 })
    })

for (const path of ['/trips/active', '/trips/cart-1/active']) {
  for (const [query, name] of [
    ['maxAgeSeconds=-1', 'maxAgeSeconds'],
    ['maxAgeSeconds=x', 'maxAgeSeconds'],
    ['lookbackSeconds=', 'lookbackSeconds'],
    ['lookbackSeconds=2678401', 'lookbackSeconds'],
  ] as const)
    test(`${path}?${query} is 400`, async () => {
      const { status, body } = await ask(`${path}?${query}`)
      assert.deepEqual([status, body.code, body.errors[0].name], [400, 'invalid_number', name])
    })
  test(`${path}: the summary has the ages in effect`, async () => {
    const { summary } = await get(`${path}?maxAgeSeconds=1.5&lookbackSeconds=2678400`)
    assert.deepEqual([summary.maxAgeSeconds, summary.lookbackSeconds], [1.5, 2_678_400])
    const { summary: defaults } = await get(path)
    assert.deepEqual([defaults.maxAgeSeconds, defaults.lookbackSeconds], [300, 14_400])
  })
}

test('a request may name 50 devices and not 51; a repeated one counts once', async () => {
  const query = (ids: readonly string[]) => `/trips?${RANGE}&hardware_ids=${ids.join(',')}`
  const fifty = DEVICES_TOO_MANY.slice(1)
  assert.equal((await get(query(fifty))).summary.devicesQueried, 4)
  assert.equal((await get(query([...fifty, 'cart-1', 'cart-2']))).summary.devicesQueried, 4)
  for (const who of ['admin', 'in scope'] as const)
    await fails(ask(query(DEVICES_TOO_MANY), who), 400, 'too_many_devices')
  assert.equal((await get(`/trips/active?hardware_ids=${DEVICES_TOO_MANY}`)).summary.devicesQueried, 4)
  const many = (count: number) => `/trips/active?hardware_ids=${Array.from({ length: count }, (_, i) => `cart-${i}`)}`
  assert.equal((await get(many(500))).summary.devicesQueried, 4)
  await fails(ask(many(501), 'admin'), 400, 'too_many_devices')
})

test('an empty list of devices is rejected', async () => {
  for (const path of [`/trips?${RANGE}&hardware_ids=`, '/trips/active?hardware_ids=,'])
    await fails(ask(path), 400, 'empty_list')
})

test('the summary of a device adds up its trips, by default those of the last day', async () => {
  const { trips, summary: totals } = await get(`/trips/cart-1?${RANGE}`)
  const summary = await get('/trips/cart-1/summary', 'in scope')
  const nowMs = clock.nowMs()
  assert.deepEqual(summary, {
    hardware_id: 'cart-1',
    from: toIso(nowMs - DAY_MS),
    to: toIso(nowMs),
    totalTrips: 2,
    totalStops: 3,
    totalDistance: totals.totalDistance,
    totalTripDuration: totals.totalDuration,
    totalStopDuration: totals.totalStopDuration,
    maxSpeed: 15.12,
    avgTripDistance: trips[0].distance,
    positionsAnalyzed: totals.positionsAnalyzed,
  })
  const none = await get('/trips/cart-1/summary?minimalTripDistance=5000')
  assert.deepEqual([none.totalTrips, none.maxSpeed, none.avgTripDistance], [0, 0, 0])
})

test('a driving device is active, and one that stands or sent nothing is not', async () => {
  const { activeTrips, summary } = await get('/trips/active')
  assert.equal(summary.activeCount, 1)
  const [active] = activeTrips
  assert.equal(active.hardware_id, 'cart-4')
  assert.deepEqual([active.speed, active.last_position_age_seconds], [18, 0])
  assert.deepEqual([active.trip.distance, active.trip.duration, active.trip.pointCount], [2000, 400, 41])
  const one = await get('/trips/cart-4/active')
  assert.deepEqual([one.active, one.activeTrip], [true, active])
  const other = await get('/trips/cart-3/active')
  assert.deepEqual([other.active, 'activeTrip' in other], [false, false])
})

test('a device is active for exactly maxAgeSeconds without data, and not longer', async () => {
  clock.set(NOW_MS + 300_000)
  assert.equal((await get('/trips/cart-4/active')).active, true)
  clock.set(NOW_MS + 300_001)
  assert.equal((await get('/trips/cart-4/active')).active, false)
  assert.equal((await get('/trips/cart-4/active?maxAgeSeconds=301')).active, true)
})

test('a position dated ahead becomes active when its time comes', async () => {
  const client = await g.device('ahead')
  const atMs = NOW_MS + 4 * MINUTE_MS
  await sendTrack(client, 'ahead', [
    { atMs: NOW_MS - 3600_000, lat: 1, long: 1, speed: 0 },
    { atMs, lat: 1.001, long: 1, speed: 20 },
  ])
  assert.equal((await get('/trips/ahead/active')).active, false)
  clock.set(atMs)
  assert.equal((await get('/trips/ahead/active')).active, true)
})

test('the path element active is the operation and never a device id', async () =>
  assert.deepEqual(Object.keys(await get('/trips/active')), ['activeTrips', 'summary']))
