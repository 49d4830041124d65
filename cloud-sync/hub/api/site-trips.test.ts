import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { siteScene } from '#hub/testing/scene.ts'
import { checkList } from '#shared/testing/list-rules.ts'
import { Ride } from '#shared/testing/ride.ts'
import {
  assertFigures,
  assertPlace,
  type ExpectedStop,
  type ExpectedTrip,
  readTripVectors,
  type VectorPoint,
} from '#shared/testing/trip-vectors.ts'
import { toIso } from '#shared/time.ts'
import { loadTrack } from '#shared/trips/track.ts'
import type { StopJson, TripFiguresJson } from '#shared/wire/trips.ts'

const HOUR_MS = 3_600_000
const { vectors, activeVectors } = readTripVectors()
/** Too many for one request without names. */
const EMPTY = Array.from({ length: 60 }, (_, i) => `empty-${i}`)

const { hub, people, site } = siteScene()

/** Returns records as a gateway stores them: sorted, each time once, those without a position omitted. */
function recordsOf(points: readonly VectorPoint[]) {
  const records = points.map(({ atMs, lat, long, speed }) => {
    return { atMs, lat: lat ?? Number.NaN, long: long ?? Number.NaN, speedKmh: speed }
  })
  const { count, recordCount: _, ...track } = loadTrack(records)
  assert.equal(track.atMs.length, count)
  return track
}

before(async () => {
  const all = [...vectors, ...activeVectors]
  const devices = [...all.map(({ name }) => name), ...EMPTY].map((hardware_id) => ({ hardware_id }))
  await site.latest({ devices })
  const runs = all
    .map(({ name, points }) => ({ hardwareId: name, stream: 'gps' as const, records: recordsOf(points) }))
    .filter(({ records }) => records.atMs.length > 0)
  await site.pushRuns(runs)
})

function queryOf(values: Record<string, number | string>): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(values)) query.set(name, String(value))
  return query.toString()
}

for (const { name, config, points, fromMs, toMs, expect } of vectors) {
  test(`trips and stops: ${name}`, async () => {
    const times = points.map(({ atMs }) => atMs)
    const from = toIso(fromMs ?? Math.min(...times) - HOUR_MS)
    const to = toIso(toMs ?? Math.max(...times) + HOUR_MS)
    const query = queryOf({ from, to, ...config })
    const { status, body } = await people.request('GET', `${site.path}/trips/${name}?${query}`)
    assert.equal(status, 200)
    assert.deepEqual(body.trips.map(timesOf), expect.trips.map(expectedTimes), 'times of the trips')
    assert.deepEqual(body.stops.map(timesOf), expect.stops.map(expectedTimes), 'times of the stops')
    for (const [i, expected] of expect.trips.entries()) assertFigures(body.trips[i], expected)
    for (const [i, { location }] of expect.stops.entries()) assertPlace(body.stops[i].location, location)
    assert.deepEqual(body.summary.configUsed, config)
    const listed = await people.request('GET', `${site.path}/trips?hardware_ids=${name}&${query}`)
    assert.deepEqual(listed.body.trips, body.trips)
    assert.equal(listed.body.summary.devicesQueried, 1)
    const summed = await people.request('GET', `${site.path}/trips/${name}/summary?${query}`)
    assert.equal(summed.body.totalTrips, expect.trips.length)
    assert.equal(summed.body.totalDistance, body.summary.totalDistance)
  })
}

for (const { name, config, nowMs, maxAgeSeconds, lookbackSeconds, expect } of activeVectors) {
  test(`active trip: ${name}`, async () => {
    const query = queryOf({ maxAgeSeconds, lookbackSeconds, ...config })
    hub.clock.freezeAt(nowMs)
    try {
      const { body } = await people.request('GET', `${site.path}/trips/${name}/active?${query}`)
      assert.equal(body.active, expect.active)
      const listed = await people.request('GET', `${site.path}/trips/active?hardware_ids=${name}&${query}`)
      assert.deepEqual(listed.body.activeTrips, expect.active ? [body.activeTrip] : [])
      if (!expect.active) return
      assert.equal(Date.parse(body.activeTrip.last_position_at), expect.lastPositionMs)
      assertPlace(body.activeTrip.location, expect.location)
      assertFigures(body.activeTrip.trip, expect.trip)
    } finally {
      hub.clock.goOn()
    }
  })
}

test('order=desc reverses the list, and is rejected for maps', async () => {
  const one = vectors.find(({ expect }) => expect.trips.length > 1)
  assert.ok(one !== undefined)
  const times = one.points.map(({ atMs }) => atMs)
  const query = queryOf({ from: toIso(Math.min(...times)), to: toIso(Math.max(...times)), ...one.config })
  const ids = vectors.slice(0, 50).map(({ name }) => name)
  for (const path of [`/${one.name}?${query}`, `?${query}&hardware_ids=${[one.name, ...ids].slice(0, 50)}`]) {
    const ask = (more: string, headers: Record<string, string> = {}) =>
      people.request('GET', `${site.path}/trips${path}${more}`, { headers })
    const { trips, stops, summary } = (await ask('')).body
    assert.ok(trips?.length > 1)
    const { body } = await ask('&order=desc')
    assert.deepEqual(body, { trips: trips.toReversed(), stops: stops.toReversed(), summary })
    assert.equal((await ask('&order=newest')).body.code, 'invalid_parameter')
    const map = await ask('&order=desc', { accept: 'application/geo+json' })
    assert.deepEqual([map.status, map.body.code], [400, 'invalid_parameter'])
    const asked = (list: string, headers = {}) => people.request('GET', list, { headers })
    assert.equal(await checkList(asked, `${site.path}/trips${path}`, 'trips'), trips.length)
  }
})

test('more than fifty devices need a hardware id filter, and more than 31 days are rejected', async () => {
  const range = 'from=2026-05-01&to=2026-05-02'
  const ask = async (query: string) => await people.get(`${site.path}/trips${query}`)
  assert.equal((await ask(`?${range}`)).code, 'too_many_devices')
  assert.equal((await ask('/active')).code, 'too_many_devices')
  assert.equal((await ask(`?${range}&hardware_ids=${EMPTY.slice(0, 51).join()}`)).code, 'too_many_devices')
  const fifty = await ask(`?${range}&hardware_ids=${EMPTY.slice(0, 50).join()}`)
  assert.deepEqual([fifty.trips, fifty.summary.devicesQueried], [[], 50])
  assert.equal((await ask('?from=2026-05-01&to=2026-06-02')).code, 'range_too_large')
  assert.equal((await ask('?from=2026-05-01')).code, 'missing_parameter')
  assert.equal((await ask('?from=2026-05-02&to=2026-05-01')).code, 'invalid_range')
  assert.equal((await ask('/empty-1/summary?from=2026-05-02')).code, 'missing_parameter')
  assert.equal((await ask('/empty-1/summary')).totalTrips, 0)
})

function timesOf({ startTime, endTime, duration }: TripFiguresJson | StopJson) {
  return { startMs: Date.parse(startTime), endMs: Date.parse(endTime), duration }
}

function expectedTimes({ startMs, endMs, duration }: ExpectedTrip | ExpectedStop) {
  return { startMs, endMs, duration }
}

interface Feature {
  geometry: { type: string; coordinates: number[][] }
  properties: Record<string, unknown> & { kind: string; coordTimes?: string[] }
}

async function askMap(path: string): Promise<{ features: Feature[]; headers: Headers }> {
  const answer = await people.request('GET', path, { headers: { accept: 'application/geo+json' } })
  assert.equal(answer.status, 200)
  assert.equal(answer.headers.get('content-type'), 'application/geo+json')
  assert.match(answer.headers.get('vary') ?? '', /\bAccept\b/)
  return { features: answer.body.features, headers: answer.headers }
}

test('trips as GeoJSON match the JSON: a line per trip, a point per stop', async () => {
  let lines = 0
  for (const { name, points } of vectors) {
    const [first, last] = [points.at(0), points.at(-1)]
    if (first === undefined || last === undefined) continue
    const range = queryOf({ from: toIso(first.atMs), to: toIso(last.atMs + HOUR_MS) })
    const path = `${site.path}/trips/${encodeURIComponent(name)}?${range}`
    const listed = await people.get(path)
    const { features } = await askMap(path)
    const expected = [
      ...listed.trips.map((trip: object) => ({ kind: 'trip', ...trip })),
      ...listed.stops.map((stop: object) => ({ kind: 'stop', ...stop })),
    ]
    const bare = features.map(({ properties: { coordTimes: _, ...properties } }) => properties)
    assert.deepEqual(bare, expected, name)
    for (const { geometry, properties } of features) {
      if (properties.kind !== 'trip') continue
      lines++
      assert.equal(geometry.type, 'LineString')
      assert.equal(geometry.coordinates.length, properties.coordTimes?.length)
    }
  }
  assert.ok(lines > 0)
})

test('a long trip is a line with all its positions, written a page at a time', async () => {
  const { records } = new Ride({ atMs: Date.UTC(2026, 4, 4, 8), lat: 28.4, long: -81.6 }).drive(12_000, 15, 1).wait(600)
  const points = records.map(({ atMs, lat, long, speedKmh }) => ({ atMs, lat, long, speed: speedKmh }))
  const runs = [{ hardwareId: 'long-1', stream: 'gps' as const, records: recordsOf(points) }]
  const long = await hub.site()
  await long.latest({ devices: [{ hardware_id: 'long-1' }] })
  assert.equal((await long.pushRuns(runs)).status, 200)
  const { features, headers } = await askMap(`${long.path}/trips?from=2026-05-04&to=2026-05-05`)
  assert.equal(headers.get('content-disposition'), `attachment; filename="trips-${long.siteId}.geojson"`)
  const one = await askMap(`${long.path}/trips/long-1?from=2026-05-04&to=2026-05-05`)
  assert.equal(one.headers.get('content-disposition'), 'attachment; filename="trips-long-1.geojson"')
  const [trip] = features
  const { coordinates = [] } = trip?.geometry ?? {}
  const times = trip?.properties.coordTimes ?? []
  assert.ok(coordinates.length > 11_000, `${coordinates.length}`)
  assert.equal(times.length, coordinates.length)
  assert.deepEqual(times, times.toSorted())
})
