import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { toE7 } from '#shared/geo.ts'
import { Ride } from '#shared/testing/ride.ts'
import { TripReference } from '#shared/testing/trip-reference.ts'
import { activeTrip, RECENT_SECONDS, recentActiveTrip } from './active.ts'
import { DEFAULT_TRIP_CONFIG, samePlaceM, type TripConfig } from './config.ts'
import { detectTrips } from './detect.ts'
import type { Stop, Trip } from './figures.ts'
import { TooManyTripsError } from './finder.ts'
import { type GpsRecord, loadTrack } from './track.ts'

const NUM_RUNS = Number(process.env.TRIPS_RUNS ?? 300)

const heading = fc.integer({ min: 0, max: 359 })
const every = fc.constantFrom(0.2, 1, 1, 7, 10, 30, 60, 90, 180)
/** Records each; few enough to try many of them. */
const steps = fc.integer({ min: 1, max: 12 })
const speedKmh = fc.oneof(
  fc.constantFrom(0.1, 3, 4, 15),
  fc.double({ min: 1, max: 40, noNaN: true, noDefaultInfinity: true }),
)
const jitter = fc.tuple(
  fc.integer({ min: -40, max: 40 }),
  fc.integer({ min: -40, max: 40 }),
  fc.constantFrom(0, 0, 0, 2.999, 3, 4.2, null),
)

type Manoeuvre = (ride: Ride) => void

const steadyDrive: fc.Arbitrary<Manoeuvre> = fc
  .tuple(
    fc.integer({ min: 5, max: 40 }),
    fc.integer({ min: 5, max: 25 }),
    fc.constantFrom(10, 20, 30),
    heading,
    fc.boolean(),
  )
  .map(([n, kmh, everyS, headingDeg, reported]) => (ride) => {
    ride.drive(n * everyS, kmh, everyS, { headingDeg, reported })
  })
const steadyWait: fc.Arbitrary<Manoeuvre> = fc.tuple(fc.integer({ min: 1, max: 12 }), fc.constantFrom(10, 30, 60)).map(
  ([n, everyS]) =>
    (ride) =>
      void ride.wait(n * everyS, everyS),
)
const gap: fc.Arbitrary<Manoeuvre> = fc
  .tuple(fc.constantFrom(29.999, 30, 30.001, 300, 1800, 1801, 7200), fc.constantFrom(0, 0, 20, 200, 5000), heading)
  .map(
    ([seconds, metres, headingDeg]) =>
      (ride) =>
        void ride.later(seconds).move(metres, headingDeg),
  )

const drive: fc.Arbitrary<Manoeuvre> = fc
  .tuple(steps, speedKmh, every, heading, fc.boolean())
  .map(([n, kmh, everyS, headingDeg, reported]) => (ride) => {
    ride.drive(n * everyS, kmh, everyS, { headingDeg, reported })
  })
const wait: fc.Arbitrary<Manoeuvre> = fc.tuple(steps, every, fc.constantFrom(0, 0, 1, null)).map(
  ([n, everyS, kmh]) =>
    (ride) =>
      void ride.wait(n * everyS, everyS, kmh),
)
const jitteryWait: fc.Arbitrary<Manoeuvre> = fc
  .tuple(fc.array(jitter, { minLength: 1, maxLength: 8 }), every)
  .map(([offsets, everyS]) => (ride) => {
    for (const [northM, eastM, kmh] of offsets) ride.record({ northM, eastM, speedKmh: kmh }).later(everyS)
  })
const spike: fc.Arbitrary<Manoeuvre> = fc
  .tuple(steps, every, fc.constantFrom(20, 300, 5000, 80_000), fc.constantFrom(0, 15, 150, null), heading)
  .map(([n, everyS, metres, kmh, headingDeg]) => (ride) => {
    const northM = metres * Math.cos(headingDeg)
    const eastM = metres * Math.sin(headingDeg)
    for (let i = 0; i < Math.min(n, 5); i++) ride.record({ northM, eastM, speedKmh: kmh }).later(everyS)
  })

const start = fc.record({
  atMs: fc.integer({ min: 0, max: 2 ** 41 }),
  lat: fc.constantFrom(0, 36.568, 52.1, -33.9, 69.6, -78),
  long: fc.constantFrom(-121.95, 0, 179.9999, -179.999),
})

function rides(...manoeuvres: fc.Arbitrary<Manoeuvre>[]): fc.Arbitrary<GpsRecord[]> {
  return fc.tuple(start, fc.array(fc.oneof(...manoeuvres), { minLength: 1, maxLength: 14 })).map(([from, all]) => {
    const ride = new Ride(from)
    for (const manoeuvre of all) manoeuvre(ride)
    return ride.records
  })
}

/** Short ways back and forth: jitter, and what hardly is more. */
const hop: fc.Arbitrary<Manoeuvre> = fc
  .tuple(fc.integer({ min: 1, max: 6 }), fc.constantFrom(4, 8, 12), fc.constantFrom(0, 180, 90))
  .map(([n, kmh, headingDeg]) => (ride) => {
    ride.drive(n * 5, kmh, 5, { headingDeg })
  })
const pause: fc.Arbitrary<Manoeuvre> = fc.integer({ min: 1, max: 50 }).map((n) => (ride) => {
  ride.wait(n * 5, 5)
})

const steadyRides = rides(steadyDrive, steadyDrive, steadyWait, gap)
const wildRides = rides(drive, drive, wait, jitteryWait, gap, spike)
const anyRides = fc.oneof(steadyRides, wildRides)
const nervousRides = rides(hop, hop, pause, spike)

const configs: fc.Arbitrary<TripConfig> = fc.oneof(
  fc.constant({ ...DEFAULT_TRIP_CONFIG }),
  fc.record({
    speedThreshold: fc.constantFrom(0, 0.1, 3, 3, 5),
    minimalTripDuration: fc.constantFrom(0, 30, 300),
    minimalTripDistance: fc.constantFrom(0, 40, 50, 500),
    minimalParkingDuration: fc.constantFrom(0, 60, 90, 180, 1e9),
    minimalNoDataDuration: fc.constantFrom(0, 30, 300, 1800),
    minimalAvgSpeed: fc.constantFrom(0, 1, 5),
    maxAcceleration: fc.constantFrom(0, 0.5, 2, 10),
  }),
)

test('trip detection agrees with a plain reference implementation', () => {
  fc.assert(
    fc.property(anyRides, configs, (records, config) => {
      const { trips, stops } = detectTrips(loadTrack(records), config)
      const expected = new TripReference(records, config).report()
      assertSameTrips(trips, expected.trips)
      assert.deepEqual(
        stops.map(({ startMs, endMs, place }) => [startMs, endMs, toE7(place.lat), toE7(place.long)]),
        expected.stops.map(({ startMs, endMs, latE7, longE7 }) => [startMs, endMs, latE7, longE7]),
      )
    }),
    { numRuns: NUM_RUNS },
  )
})

test('the active trip agrees with the reference implementation at any time', () => {
  fc.assert(
    fc.property(
      anyRides,
      configs,
      fc.nat(20_000),
      fc.constantFrom(0, 60, 300, 1e6),
      (records, config, later, maxAgeSeconds) => {
        const nowMs = (records[0]?.atMs ?? 0) + later * 500
        const range = { fromMs: nowMs - 14_400_000, toMs: nowMs }
        const active = activeTrip(loadTrack(records, range), config, { nowMs, maxAgeSeconds })
        const expected = new TripReference(records, config, range).active(nowMs, maxAgeSeconds)
        assert.equal(active === undefined, expected === undefined)
        if (active === undefined || expected === undefined) return
        assertNear(active.speedKmh, expected.speedKmh)
        assertSameTrips([active.trip], [expected.trip])
      },
    ),
    { numRuns: NUM_RUNS },
  )
})

test('the end of a track yields the active trip, or reports that it cannot', () => {
  let found = 0
  fc.assert(
    fc.property(
      fc.oneof(nervousRides, anyRides),
      configs,
      fc.array(fc.nat(), { minLength: 1, maxLength: 20 }),
      fc.constantFrom(0, 20, 100, 300),
      (records, config, cuts, laterS) => {
        const nowMs = Math.max(...records.map(({ atMs }) => atMs)) + laterS * 1000
        const query = { nowMs, maxAgeSeconds: 300 }
        const active = activeTrip(loadTrack(records), config, query)
        for (const cut of cuts) {
          const fromMs = records[cut % records.length]?.atMs ?? 0
          const recent = recentActiveTrip(loadTrack(records, { fromMs, toMs: nowMs }), config, query)
          if (recent === undefined) continue
          found++
          assert.deepEqual(recent.active, active)
        }
      },
    ),
    { numRuns: NUM_RUNS },
  )
  assert.ok(found > NUM_RUNS / 10, `${found} times of ${NUM_RUNS} rides`)
})

test('the last half hour of a course is enough to find active trips', () => {
  const ride = new Ride()
  for (let hole = 0; hole < 18; hole++) ride.drive(240, 15, 5).wait(200, 5)
  const { records } = ride.drive(60, 15, 5).record()
  const nowMs = ride.atMs
  const query = { nowMs, maxAgeSeconds: 300 }
  const fromMs = nowMs - RECENT_SECONDS * 1000
  const recent = recentActiveTrip(loadTrack(records, { fromMs, toMs: nowMs }), DEFAULT_TRIP_CONFIG, query)
  assert.equal(recent?.active?.trip.durationS, 60)
  assert.deepEqual(recent?.active, activeTrip(loadTrack(records), DEFAULT_TRIP_CONFIG, query))
})

test('trips and stops are in order and share no more than an instant', () => {
  fc.assert(
    fc.property(anyRides, configs, (records, config) => {
      const { trips, stops } = detectTrips(loadTrack(records), config)
      assertDisjoint(trips)
      assertDisjoint(stops)
      assertDisjoint([...trips, ...stops].sort((a, b) => a.startMs - b.startMs || a.endMs - b.endMs))
    }),
    { numRuns: NUM_RUNS },
  )
})

test('two trips have a stop between them, and a single one fills the whole time between them', () => {
  fc.assert(
    fc.property(anyRides, configs, (records, config) => {
      const { trips, stops } = detectTrips(loadTrack(records), config)
      const { legs, fixes } = new TripReference(records, config)
      const msOf = (i: number) => fixes[i]?.atMs ?? 0
      for (const [i, later] of trips.slice(1).entries()) {
        const fromMs = trips[i]?.endMs ?? 0
        const toMs = later.startMs
        const between = stops.filter(({ startMs, endMs }) => startMs >= fromMs && endMs <= toMs)
        assert.ok(between.length > 0)
        const hasMoved = legs
          .filter(({ from, to }) => msOf(from) >= fromMs && msOf(to) <= toMs)
          .some(({ kind, metres }) => kind === 'move' || metres >= samePlaceM(config))
        if (!hasMoved) assert.deepEqual(between.map(spanOf), [{ startMs: fromMs, endMs: toMs }])
      }
    }),
    { numRuns: NUM_RUNS },
  )
})

test('every trip reaches the minima and its figures are consistent', () => {
  fc.assert(
    fc.property(anyRides, configs, (records, config) => {
      for (const trip of detectTrips(loadTrack(records), config).trips) {
        assert.ok(trip.durationS >= config.minimalTripDuration)
        assert.ok(trip.distanceM >= config.minimalTripDistance)
        assert.ok(trip.avgSpeedKmh >= config.minimalAvgSpeed)
        assert.ok(trip.maxSpeedKmh >= config.speedThreshold)
        assert.equal(trip.durationS, (trip.endMs - trip.startMs) / 1000)
        assert.equal(trip.avgSpeedKmh, (trip.distanceM / trip.durationS) * 3.6)
        assert.ok(trip.pointCount >= 2)
      }
    }),
    { numRuns: NUM_RUNS },
  )
})

test('the order of records and duplicates do not change the result', () => {
  fc.assert(
    fc.property(
      anyRides
        .map(firstOfEachTime)
        .chain((records) =>
          fc.tuple(fc.constant(records), fc.shuffledSubarray([...records, ...records.slice(0, 20)], { minLength: 0 })),
        ),
      configs,
      ([records, some], config) => {
        const shuffled = [...some, ...records.filter((record) => !some.includes(record))]
        const { trips, stops } = detectTrips(loadTrack(shuffled), config)
        const expected = detectTrips(loadTrack(records), config)
        assert.deepEqual({ trips, stops }, { trips: expected.trips, stops: expected.stops })
      },
    ),
    { numRuns: NUM_RUNS },
  )
})

test('a range that begins or ends elsewhere changes at most the trip at the cut', () => {
  fc.assert(
    fc.property(steadyRides, fc.nat(), (records, where) => {
      const config = { ...DEFAULT_TRIP_CONFIG }
      const cutMs = records[where % records.length]?.atMs ?? 0
      const { trips } = detectTrips(loadTrack(records), config)
      const cut = trips.find(({ startMs, endMs }) => startMs < cutMs && cutMs < endMs)

      const after = detectTrips(loadTrack(records, { fromMs: cutMs, toMs: 8.64e15 }), config).trips
      const whole = trips.filter(({ startMs }) => startMs >= cutMs)
      assert.deepEqual(after.slice(after.length - whole.length), whole)
      const rest = after.slice(0, after.length - whole.length)
      assert.ok(rest.length <= 1 && rest.every(({ endMs }) => endMs === cut?.endMs))

      const before = detectTrips(loadTrack(records, { fromMs: 0, toMs: cutMs }), config).trips
      const wholeBefore = trips.filter(({ endMs }) => endMs <= cutMs)
      assert.deepEqual(before.slice(0, wholeBefore.length), wholeBefore)
      const begun = before.slice(wholeBefore.length)
      assert.ok(begun.length <= 1 && begun.every(({ startMs }) => startMs === cut?.startMs))
    }),
    { numRuns: NUM_RUNS },
  )
})

test('the history of a trip has its points and the spikes that were dropped', () => {
  fc.assert(
    fc.property(anyRides, configs, (records, config) => {
      const track = loadTrack(records)
      const { droppedMs } = new TripReference(records, config).report()
      for (const { startMs, endMs, pointCount } of detectTrips(track, config).trips) {
        const isWithin = (atMs: number) => atMs >= startMs && atMs <= endMs
        const stored = track.atMs.filter(isWithin)
        assert.equal(pointCount, stored.length - droppedMs.filter(isWithin).length)
      }
    }),
    { numRuns: NUM_RUNS },
  )
})

function firstOfEachTime(records: GpsRecord[]): GpsRecord[] {
  return records.filter(({ atMs }, i) => atMs !== records[i - 1]?.atMs)
}

function assertSameTrips(
  trips: Trip[],
  expected: {
    startMs: number
    endMs: number
    distanceM: number
    maxSpeedKmh: number
    avgSpeedKmh: number
    pointCount: number
  }[],
): void {
  const exact = ({ startMs, endMs, pointCount }: (typeof expected)[number]) => ({
    startMs,
    endMs,
    pointCount,
  })
  assert.deepEqual(trips.map(exact), expected.map(exact))
  for (const [i, trip] of trips.entries()) {
    assertNear(trip.distanceM, expected[i]?.distanceM)
    assertNear(trip.maxSpeedKmh, expected[i]?.maxSpeedKmh)
    assertNear(trip.avgSpeedKmh, expected[i]?.avgSpeedKmh)
  }
}

/** Equal except for the rounding of sums. */
function assertNear(actual: number, expected = Number.NaN): void {
  assert.ok(Math.abs(actual - expected) <= 1e-9 * Math.max(1, expected), `${actual} is not ${expected}`)
}

function assertDisjoint(spans: (Trip | Stop)[]): void {
  for (const [i, { startMs, endMs }] of spans.entries()) {
    assert.ok(startMs <= endMs)
    assert.ok(startMs >= (spans[i - 1]?.endMs ?? startMs))
  }
}

function spanOf({ startMs, endMs }: Trip | Stop) {
  return { startMs, endMs }
}

test('no more trips and stops than requested are built', () => {
  const { records } = new Ride().wait(300).drive(600, 15).wait(300).drive(600, 15).wait(300).record()
  const track = loadTrack(records)
  const { trips, stops } = detectTrips(track, DEFAULT_TRIP_CONFIG, 5)
  assert.deepEqual([trips.length, stops.length], [2, 3])
  assert.throws(() => detectTrips(track, DEFAULT_TRIP_CONFIG, 4), TooManyTripsError)
})
