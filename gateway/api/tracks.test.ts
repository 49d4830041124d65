import assert from 'node:assert/strict'
import { before, beforeEach, describe, test } from 'node:test'
import { Ride } from '#shared/testing/ride.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, toIso } from '#shared/time.ts'
import type { CartTrackJson, ReplayJson } from '#shared/wire/tracks.ts'
import type { Who } from '#testing/callers.ts'
import { type SentFix, sendTrack } from '#testing/course/sent-track.ts'
import { fails, ok, pluck, publish, scene } from '#testing/scene.ts'

/** 08:00 in Berlin. */
const MORNING_MS = Date.UTC(2026, 4, 4, 6)
const NOW_MS = MORNING_MS + 2 * HOUR_MS
const { g, clock, keys, onlyFor } = scene({ nowMs: NOW_MS, inScope: ['lock-17'] })
const TRACK = '/carts/17/track'
const DAY = `${TRACK}?date=2026-05-04`
const REPLAY = `/replay?from=${toIso(MORNING_MS)}&to=${toIso(MORNING_MS + HOUR_MS)}`
const ride = new Ride({ atMs: MORNING_MS + MINUTE_MS, lat: 36.6, long: -121.9 }).wait(60).drive(60, 15, 1).record()
const FIXES: SentFix[] = ride.records.map(({ speedKmh, ...fix }) => ({ ...fix, speed: speedKmh }))

before(async () => {
  await g.patch('/site', { time_zone: 'Europe/Berlin' })
  const put = async (id: string, cart: string) => {
    const client = await g.device(id)
    await g.patch(`/devices/${id}`, { cart })
    return client
  }
  const lock = await put('lock-17', '17')
  await put('screen-17', '17')
  const [resting, lost] = [await put('lock-18', '18'), await put('lock-19', '19')]
  await sendTrack(lock, 'lock-17', FIXES)
  const volts = [
    { ts: MORNING_MS, battery_voltage: 50.9 },
    { ts: MORNING_MS + MINUTE_MS, battery_voltage: 50.1 },
  ]
  await publish(lock, 'dev/lock-17/tlm', volts)
  // the evening before, without later records
  await sendTrack(resting, 'lock-18', [{ atMs: MORNING_MS - 10 * HOUR_MS, lat: 36.5, long: -121.8, speed: 0 }])
  await sendTrack(lost, 'lock-19', [{ atMs: MORNING_MS - 30 * HOUR_MS, lat: 36.5, long: -121.8, speed: 0 }])
})
beforeEach(() => clock.set(NOW_MS))

const ask = async (path: string, who: Who = 'admin') => g.get(path, { key: keys[who] })
const get = async <Answer>(path: string, who: Who = 'admin'): Promise<Answer> => ok(ask(path, who))

function summed(column: readonly number[]): number[] {
  let sum = 0
  return column.map((difference) => {
    sum += difference
    return sum
  })
}

describe('access', () => {
  onlyFor('any key', ['GET', DAY])
  for (const who of ['out of scope', 'no scope'] as const)
    test(`GET ${TRACK}: ${who} gets 403 cart_forbidden`, () => fails(ask(DAY, who), 403, 'cart_forbidden'))
  onlyFor('staff', ['GET', REPLAY])
  test('a track of a partly visible cart has only the devices in scope', async () => {
    const { devices } = await get<CartTrackJson>(DAY, 'in scope')
    assert.deepEqual(pluck(devices, 'hardware_id'), ['lock-17'])
  })
  test('a replay for staff has only the devices in scope', async () => {
    const { key } = await g.createUser({ role: 'staff', allowed_hardware_ids: ['lock-18'] })
    assert.deepEqual(pluck((await g.get(REPLAY, { key })).body.devices, 'cart'), ['18'])
  })
})

describe('rejected requests', () => {
  const from = `from=${toIso(MORNING_MS)}`
  for (const [path, status, code] of [
    ['/carts/nothing/track?date=2026-05-04', 404, 'cart_not_found'],
    [TRACK, 400, 'missing_parameter'],
    [`${TRACK}?${from}`, 400, 'missing_parameter'],
    [`${TRACK}?date=2026-02-30`, 400, 'invalid_date'],
    [`${TRACK}?date=2026-05-04&${from}`, 400, 'invalid_range'],
    [`${TRACK}?${from}&to=${toIso(MORNING_MS - 1)}`, 400, 'invalid_range'],
    [`${TRACK}?${from}&to=${toIso(MORNING_MS + 25 * HOUR_MS + 1)}`, 400, 'range_too_large'],
    ['/replay', 400, 'missing_parameter'],
    [`/replay?${from}&to=${toIso(MORNING_MS + 2 * HOUR_MS + 1)}`, 400, 'range_too_large'],
  ] as const)
    test(`GET ${path} is ${status} ${code}`, async () => {
      const answer = await ask(path)
      assert.deepEqual([answer.status, answer.body.code ?? answer.body.errors?.[0]?.code], [status, code])
    })

  test('a user may run a few reads at a time, and the next one gets a wait time', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => ask(DAY)))
    const refused = answers.filter(({ status }) => status === 429)
    assert.ok(refused.length > 0 && refused.length <= 4, String(refused.length))
    assert.equal(refused[0]?.body.code, 'too_many_downloads')
    await get(DAY)
  })
})

test('the track of a day has every record of each device, by the time zone of the site', async () => {
  const { cart, from, to, devices } = await get<CartTrackJson>(DAY)
  assert.deepEqual([cart, from, to], ['17', '2026-05-03T22:00:00.000Z', '2026-05-04T21:59:59.999Z'])
  const [lock, screen] = devices
  assert.deepEqual([lock?.hardware_id, lock?.device_type], ['lock-17', 'teebox'])
  assert.deepEqual([screen?.hardware_id, screen?.gps.at], ['screen-17', []])
  const fromMs = Date.parse(from)
  assert.deepEqual(
    summed(lock?.gps.at ?? []).map((ms) => fromMs + ms),
    FIXES.map(({ atMs }) => atMs),
  )
  const [lats, speeds] = [summed(lock?.gps.lat ?? []), summed(lock?.gps.speed ?? [])]
  for (const [i, { lat, speed }] of FIXES.entries()) {
    assert.ok(Math.abs((lats[i] ?? 0) / 1e7 - (lat ?? 0)) < 1e-7)
    assert.equal(speeds[i], speed === null ? -1 : Math.round(speed * 1000))
  }
  assert.deepEqual(summed(lock?.battery.voltage ?? []), [50_900, 50_100])
})

test('a future day has no records, and a day of 23 hours has its own length', async () => {
  const future = await get<CartTrackJson>(`${TRACK}?date=2027-01-01`)
  assert.deepEqual(future.devices[0]?.gps.at, [])
  const short = await get<CartTrackJson>(`${TRACK}?date=2026-03-29`)
  assert.equal(Date.parse(short.to) + 1 - Date.parse(short.from), 23 * HOUR_MS)
})

test('a replay is simplified and starts with the last known position of each cart', async () => {
  const { devices } = await get<ReplayJson>(REPLAY)
  assert.deepEqual(pluck(devices, 'cart', 'hardware_id'), [
    ['17', 'lock-17'],
    ['18', 'lock-18'],
  ])
  const [driven, parked] = devices
  assert.deepEqual(parked?.gps.at, [-10 * HOUR_MS])
  const times = summed(driven?.gps.at ?? [])
  assert.ok(times.length < FIXES.length / 3, `${times.length} of ${FIXES.length}`)
  assert.equal(MORNING_MS + (times.at(-1) ?? 0), FIXES.at(-1)?.atMs)
})

test('a replay of the hour after starts with the last position before it', async () => {
  const next = `/replay?from=${toIso(NOW_MS - MINUTE_MS)}&to=${toIso(NOW_MS)}`
  const { devices } = await get<ReplayJson>(next)
  const [driven] = devices
  assert.deepEqual(driven?.gps.at, [(FIXES.at(-1)?.atMs ?? 0) - (NOW_MS - MINUTE_MS)])
  const long = await get<ReplayJson>(`/replay?from=${toIso(NOW_MS + DAY_MS)}&to=${toIso(NOW_MS + DAY_MS)}`)
  assert.deepEqual(long.devices, [])
})
