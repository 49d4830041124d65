import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { Ride } from '#shared/testing/ride.ts'
import type { StopJson, TripJson } from '#shared/wire/trips.ts'
import { sendTrack } from '#testing/course/sent-track.ts'
import { scene } from '#testing/scene.ts'

const RANGE = 'from=2026-05-04&to=2026-05-05'
const { g } = scene({ nowMs: Date.UTC(2026, 4, 4, 12), devices: ['a-silent'] })

/** Builds two trips of thousands of points, with spikes in the first. */
function longShift(): Ride['records'] {
  const { records } = new Ride().drive(4500, 15, 1).wait(600).drive(2000, 15, 1).wait(600).record()
  return records.map((record, i) => ([5, 1999, 2000, 3500].includes(i) ? { ...record, lat: 37 } : record))
}

const TRACKS: Record<string, Ride['records']> = {
  'cart-1': longShift(),
  'cart-2': new Ride({ atMs: Date.UTC(2026, 4, 4, 9), lat: -1e-7, long: 1e-7 }).wait(300).drive(700, 20).wait(300)
    .records,
  parked: new Ride().wait(600).records,
}

before(async () => {
  for (const [hardwareId, records] of Object.entries(TRACKS)) {
    const fixes = records.map(({ speedKmh, ...fix }) => ({ ...fix, speed: speedKmh }))
    await sendTrack(await g.device(hardwareId), hardwareId, fixes)
  }
})

const ask = (path: string, accept?: string) => g.get(path, { headers: accept === undefined ? {} : { accept } })

interface Feature {
  geometry: { type: string; coordinates: number[][] }
  properties: Record<string, unknown> & { kind: string; coordTimes: string[] }
}

const GEO_JSON = 'application/geo+json'

for (const [path, ids] of [
  [`/trips/cart-1?${RANGE}`, ['cart-1']],
  [`/trips/cart-2?${RANGE}`, ['cart-2']],
  [`/trips/parked?${RANGE}`, ['parked']],
  [`/trips/a-silent?${RANGE}`, ['a-silent']],
  [`/trips?${RANGE}`, ['a-silent', 'cart-1', 'cart-2', 'parked']],
  [`/trips?${RANGE}&hardware_ids=parked,a-silent,cart-2`, ['a-silent', 'cart-2', 'parked']],
  [`/trips?${RANGE}&hardware_ids=nowhere`, []],
] as const)
  test(`${path} as GeoJSON has the trips and stops of the JSON, device by device`, async () => {
    const { body: listed } = await ask(path)
    const { status, body, headers } = await ask(path, GEO_JSON)
    assert.equal(status, 200)
    assert.equal(headers.get('content-type'), GEO_JSON)
    assert.match(headers.get('vary') ?? '', /\bAccept\b/)
    assert.equal(body.type, 'FeatureCollection')
    const of = (id: string, all: (TripJson | StopJson)[]) => all.filter((one) => one.hardware_id === id)
    const expected = ids.flatMap((id) => [
      ...of(id, listed.trips).map((trip) => ({ kind: 'trip', ...trip })),
      ...of(id, listed.stops).map((stop) => ({ kind: 'stop', ...stop })),
    ])
    const features: Feature[] = body.features
    assert.deepEqual(
      features.map(({ properties: { coordTimes: _, ...properties } }) => properties),
      expected,
    )
    assert.deepEqual(
      features.map(({ geometry, properties }) => [geometry.type, properties.kind]),
      expected.map(({ kind }) => [kind === 'trip' ? 'LineString' : 'Point', kind]),
    )
  })

test('the line of a trip is its points without spikes, and when each of them was', async () => {
  const { body } = await ask(`/trips/cart-1?${RANGE}`, GEO_JSON)
  const lines: Feature[] = body.features.filter(({ geometry }: Feature) => geometry.type === 'LineString')
  assert.equal(lines.length, 2)
  for (const { geometry, properties } of lines) {
    const { startTime, endTime, pointCount, coordTimes } = properties
    assert.equal(geometry.coordinates.length, pointCount)
    const { body: records } = await ask(`/devices/cart-1/gps?order=asc&from=${startTime}&to=${endTime}`)
    const fixes = records.filter(({ lat }: { lat: number }) => lat !== 37)
    assert.deepEqual(
      geometry.coordinates,
      fixes.map(({ lat, long }: { lat: number; long: number }) => [long, lat]),
    )
    assert.deepEqual(
      coordTimes,
      fixes.map(({ timestamp }: { timestamp: string }) => timestamp),
    )
  }
  assert.equal(lines[0]?.properties.pointCount, 4501 - 4)
})

test('a point is where the stop began', async () => {
  const { body } = await ask(`/trips/parked?${RANGE}`, GEO_JSON)
  const [{ geometry }] = body.features
  assert.deepEqual(geometry.coordinates, [-121.95, 36.568])
})

for (const [accept, type] of [
  [undefined, 'application/json'],
  ['*/*', 'application/json'],
  ['application/*', 'application/json'],
  ['text/html', 'application/json'],
  ['application/geo+json;q=0', 'application/json'],
  ['application/json;q=0.5, application/geo+json', GEO_JSON],
  ['APPLICATION/GEO+JSON', GEO_JSON],
] as const)
  test(`Accept ${accept} is answered as ${type}`, async () => {
    const { headers } = await ask(`/trips?${RANGE}`, accept)
    assert.equal(headers.get('content-type'), type)
  })

test('files have safe names', async () => {
  const nameOf = async (path: string, accept?: string) => (await ask(path, accept)).headers.get('content-disposition')
  assert.equal(await nameOf(`/trips?${RANGE}`, GEO_JSON), 'attachment; filename="trips.geojson"')
  assert.equal(await nameOf(`/trips/cart-1?${RANGE}`, GEO_JSON), 'attachment; filename="trips-cart-1.geojson"')
  assert.equal(await nameOf(`/trips/cart-1?${RANGE}`), null)
})

test('refusals are problems, whatever was asked for', async () => {
  const { status, headers } = await ask('/trips/cart-1?from=2026-05-04', GEO_JSON)
  assert.deepEqual([status, headers.get('content-type')], [400, 'application/problem+json'])
})
