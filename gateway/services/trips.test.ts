import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Counter } from '#shared/counter.ts'
import { createLog } from '#shared/log.ts'
import { FakeClock } from '#shared/testing/clocks.ts'
import { Ride } from '#shared/testing/ride.ts'
import { MINUTE_MS } from '#shared/time.ts'
import { DEFAULT_TRIP_CONFIG } from '#shared/trips/config.ts'
import { openReader } from '#store/db/connection.ts'
import { ReaderPool } from '#store/readers/pool.ts'
import { listDevices } from '#store/tables/devices.ts'
import { sendTrack } from '#testing/course/sent-track.ts'
import { startGateway, type TestGateway } from '#testing/start-gateway.ts'
import { Fleet } from './fleet.ts'
import { type TripLimits, Trips } from './trips.ts'

// Limits that a test could not reach are lowered here, on the data of a running gateway.

const EVENING_MS = Date.UTC(2026, 4, 4, 20)
let g: TestGateway
let readers: ReaderPool
const fleet = new Fleet()

before(async () => {
  g = await startGateway({}, { clock: new FakeClock(EVENING_MS) })
  // 92 fixes, two trips and three stops each
  const shift = new Ride().wait(300).drive(600, 15, 20).wait(300).drive(600, 15, 20).wait(300).record()
  const fixes = shift.records.map(({ speedKmh, ...fix }) => ({ ...fix, speed: speedKmh }))
  for (const hardwareId of ['cart-1', 'cart-2']) await sendTrack(await g.device(hardwareId), hardwareId, fixes)
  const path = join(g.config.dataDir, 'cartbarn.db')
  const connection = openReader(path)
  fleet.load({ devices: () => listDevices(connection), latestGps: () => null, latestBattery: () => null }, EVENING_MS)
  connection.close()
  readers = new ReaderPool(path, 1, new Counter(), createLog('silent'))
  await readers.start()
})
after(async () => {
  await readers.stop()
  await g.stop()
})

function tripsWith(limits: Partial<TripLimits>): Trips {
  const clock = { nowMs: () => EVENING_MS, isTrusted: true }
  const all = { positions: 1000, foundOfDevice: 1000, found: 1000, fixesAtOnce: 1000, fixesOfPage: 1000, ...limits }
  return new Trips({ store: { readers }, clock, limits: all })
}

const SEARCH = {
  range: { fromMs: EVENING_MS - 24 * 60 * MINUTE_MS, toMs: EVENING_MS },
  config: DEFAULT_TRIP_CONFIG,
  order: 'asc' as const,
  asker: { owner: 'somebody' },
}

test('as many trips are found as the limits allow', async () => {
  const all = fleet.all()
  const [one, two] = await tripsWith({ foundOfDevice: 5, found: 10 }).find(all, SEARCH)
  assert.deepEqual([one?.sums.trips, one?.sums.stops, two?.sums.trips, two?.sums.stops], [2, 3, 2, 3])
  const positions = one?.sums.positionsAnalyzed ?? 0
  assert.equal((await tripsWith({ positions }).find(all, SEARCH)).length, 2)
  await assert.rejects(tripsWith({ positions: positions - 1 }).find(all, SEARCH), {
    kind: 'invalid',
    code: 'too_many_positions',
  })
})

for (const limits of [{ foundOfDevice: 4 }, { found: 9 }]) {
  test(`a search beyond ${JSON.stringify(limits)} has too many trips`, async () => {
    await assert.rejects(tripsWith(limits).find(fleet.all(), SEARCH), { kind: 'invalid', code: 'too_many_trips' })
  })
}

test('a map that is too long is rejected before anything is written', async () => {
  await assert.rejects(tripsWith({ positions: 10 }).features(fleet.all(), SEARCH), { code: 'too_many_positions' })
})

test('a map is the same whether its lines are written together or a page at a time', async () => {
  const mapWith = async (limits: Partial<TripLimits>) => {
    const texts: Uint8Array[] = []
    for await (const text of await tripsWith(limits).features(fleet.all(), SEARCH)) texts.push(text)
    return JSON.parse(Buffer.concat(texts).toString())
  }
  const atOnce = await mapWith({})
  assert.equal(atOnce.features.length, 10)
  const lengths = atOnce.features.map(({ geometry }: { geometry: { coordinates: [] } }) => geometry.coordinates.length)
  // 31 points per line: one of two lines at a time; pages that end with the line, before it and after it
  for (const fixesAtOnce of [0, 31, 61]) {
    for (const fixesOfPage of [1, 2, 30, 31, 32]) assert.deepEqual(await mapWith({ fixesAtOnce, fixesOfPage }), atOnce)
  }
  assert.deepEqual(lengths, [31, 31, 2, 2, 2, 31, 31, 2, 2, 2])
})

test('an active trip that is too long is rejected', async () => {
  const search = { maxAgeSeconds: 1e6, lookbackSeconds: 1e6, config: DEFAULT_TRIP_CONFIG, asker: SEARCH.asker }
  await assert.rejects(tripsWith({ positions: 10 }).active(fleet.all(), search), { code: 'too_many_positions' })
  await assert.rejects(tripsWith({ foundOfDevice: 0 }).active(fleet.all(), search), { code: 'too_many_trips' })
})

test('while the clock is a guess, an active trip ages by the silence of a device that knows the time', async () => {
  const clock = new FakeClock(0)
  const own = await startGateway({}, { clock, isTimeSynchronized: () => false })
  try {
    const client = await own.device('cart-1')
    const { records } = new Ride().drive(400, 18, 10).record({ speedKmh: 18 })
    await sendTrack(
      client,
      'cart-1',
      records.map(({ speedKmh, ...fix }) => ({ ...fix, speed: speedKmh })),
    )
    const active = async () => (await own.request('GET', '/trips/cart-1/active')).body
    assert.equal((await active()).activeTrip?.last_position_age_seconds, 0)
    clock.advance(300_000)
    assert.equal((await active()).activeTrip?.last_position_age_seconds, 300)
    clock.advance(1)
    assert.equal((await active()).active, false)
  } finally {
    await own.stop()
  }
})
