import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ride } from '#shared/testing/ride.ts'
import { activeTrip } from './active.ts'
import { DEFAULT_TRIP_CONFIG, type TripConfig } from './config.ts'
import { detectTrips } from './detect.ts'
import { type GpsRecord, loadTrack, type TrackRange } from './track.ts'

const START_MS = Date.UTC(2026, 4, 4, 8)

/** Trips and stops as seconds from the first minute of the ride. */
function spans(
  records: readonly GpsRecord[],
  config: Partial<TripConfig> = {},
  range?: TrackRange,
): { trips: number[][]; stops: number[][] } {
  const { trips, stops } = detectTrips(loadTrack(records, range), { ...DEFAULT_TRIP_CONFIG, ...config })
  const span = ({ startMs, endMs }: { startMs: number; endMs: number }) =>
    [startMs, endMs].map((ms) => (ms - START_MS) / 1000)
  return { trips: trips.map(span), stops: stops.map(span) }
}

function onlyTrip(records: readonly GpsRecord[], config: Partial<TripConfig> = {}) {
  const { trips } = detectTrips(loadTrack(records), { ...DEFAULT_TRIP_CONFIG, ...config })
  assert.equal(trips.length, 1)
  const [trip] = trips
  assert.ok(trip !== undefined)
  return trip
}

function assertNear(actual: number, expected: number, tolerance = 1): void {
  assert.ok(Math.abs(actual - expected) <= tolerance, `${actual} is not ${expected}`)
}

function active(records: readonly GpsRecord[], nowS: number, config: Partial<TripConfig> = {}) {
  const nowMs = START_MS + nowS * 1000
  const track = loadTrack(records, { fromMs: nowMs - 14_400_000, toMs: nowMs })
  return activeTrip(track, { ...DEFAULT_TRIP_CONFIG, ...config }, { nowMs, maxAgeSeconds: 300 })
}

test('no record and one record yield no trips and no stops, never an error', () => {
  const zeros = { speedThreshold: 0, minimalParkingDuration: 0, minimalNoDataDuration: 0 }
  for (const config of [{}, zeros, { minimalParkingDuration: 0 }]) {
    assert.deepEqual(spans([], config), { trips: [], stops: [] })
    assert.deepEqual(spans(new Ride().record().records, config), { trips: [], stops: [] })
  }
})

test('at a threshold of 0 every fix moves, and only gaps end trips', () => {
  const { records } = new Ride().wait(600).drive(600, 15).wait(600).later(1801).drive(600, 15).record()
  assert.deepEqual(spans(records, { speedThreshold: 0 }), {
    trips: [
      [0, 1770],
      [3601, 4201],
    ],
    stops: [[1770, 3601]],
  })
})

test('with a signal loss limit of 0 every leg is a gap and the track has no trips', () => {
  const { records } = new Ride().drive(600, 15).wait(600).record()
  assert.deepEqual(spans(records, { minimalNoDataDuration: 0 }).trips, [])
})

test('a reported speed is trusted: 0 while the position moves is not a trip', () => {
  const ride = new Ride()
  for (let i = 0; i < 60; i++) ride.record().move(100).later(30)
  assert.deepEqual(spans(ride.records).trips, [])
})

test('a stop before a signal loss longer than parking splits a trip, as for a sleeping tracker', () => {
  const { records } = new Ride().drive(600, 15).record().later(400).move(1500).drive(600, 15).wait(300)
  assert.deepEqual(spans(records).trips, [
    [0, 600],
    [1000, 1600],
  ])
})

test('a burst of more spikes than the filter skips adds no distance, though its fixes count', () => {
  const ride = new Ride().drive(300, 18, 10)
  for (let i = 0; i < 4; i++) ride.record({ eastM: 20_000, speedKmh: 18 }).later(10)
  const trip = onlyTrip(ride.drive(300, 18, 10).wait(300).records)
  assert.equal(trip.pointCount, 30 + 4 + 30 + 1)
  assertNear(trip.distanceM, 290 * 5 + 300 * 5)
})

test('fixes within one second count as a second apart', () => {
  const ride = new Ride().drive(600, 18, 10)
  for (let i = 0; i < 3; i++) ride.record({ speedKmh: 18 }).later(0.1).move(4)
  const trip = onlyTrip(ride.drive(300, 18, 10).wait(300).records)
  assertNear(trip.distanceM, 900 * 5 + 12)
  assert.equal(trip.maxSpeedKmh, 18)
})

test('trips go across the antimeridian and near a pole', () => {
  for (const [lat, long] of [
    [-17, 179.99],
    [89.5, -179.99],
  ] as const) {
    const ride = new Ride({ atMs: START_MS, lat, long })
    const headingDeg = long > 0 ? 90 : 270
    const trip = onlyTrip(ride.drive(600, 18, 10, { headingDeg }).wait(300).records)
    assertNear(trip.distanceM, 3000, 3)
  }
})

test('a stop that began before the range keeps its part inside, or is dropped if that is too short', () => {
  const { records } = new Ride().wait(600).drive(600, 15).wait(300)
  const range = (fromS: number) => ({ fromMs: START_MS + fromS * 1000, toMs: START_MS + 1e7 })
  assert.deepEqual(spans(records, {}, range(300)).stops[0], [300, 600])
  assert.deepEqual(spans(records, {}, range(450)), { trips: [[600, 1200]], stops: [[1200, 1470]] })
})

test('a trip over midnight is one part in the query of each day', () => {
  const lateEvening = { atMs: Date.UTC(2026, 4, 4, 23, 50), lat: 36.568, long: -121.95 }
  const { records } = new Ride(lateEvening).drive(1200, 15).wait(300)
  const midnightMs = Date.UTC(2026, 4, 5)
  const first = detectTrips(loadTrack(records, { fromMs: 0, toMs: midnightMs - 1 }), DEFAULT_TRIP_CONFIG)
  const second = detectTrips(loadTrack(records, { fromMs: midnightMs, toMs: 8e15 }), DEFAULT_TRIP_CONFIG)
  assert.deepEqual(
    first.trips.map(({ durationS }) => durationS),
    [570],
  )
  assert.deepEqual(
    second.trips.map(({ durationS }) => durationS),
    [600],
  )
})

test('a signal loss one second longer than allowed splits a trip', () => {
  const drives = (silenceS: number) =>
    new Ride().drive(600, 15).record({ speedKmh: 15 }).later(silenceS).drive(600, 15).wait(300).records
  assert.deepEqual(spans(drives(1800)).trips, [[0, 3000]])
  assert.deepEqual(spans(drives(1801)).trips, [
    [0, 600],
    [2401, 3001],
  ])
})

test('a device carried away during a signal loss has two stops and no trip', () => {
  const { records } = new Ride().wait(300).later(3600).move(5000).wait(300).record()
  const { trips, stops } = detectTrips(loadTrack(records), DEFAULT_TRIP_CONFIG)
  assert.deepEqual(trips, [])
  assert.deepEqual(
    stops.map(({ durationS }) => durationS),
    [270 + 3630, 300],
  )
  assert.notDeepEqual(stops[0]?.place, stops[1]?.place)
})

test('a jump of a device between two fixes stays in the trip and adds no distance', () => {
  const ride = new Ride().drive(600, 18, 10).move(5000).drive(600, 18, 10).wait(300)
  const trip = onlyTrip(ride.records)
  assertNear(trip.distanceM, 590 * 5 + 600 * 5)
  assert.equal(trip.pointCount, 121)
})

test('one and two bad fixes are dropped from a trip, and one from a stop', () => {
  for (const bad of [1, 2]) {
    const ride = new Ride().drive(300, 18, 10)
    for (let i = 0; i < bad; i++) ride.record({ eastM: 5000, speedKmh: 18 }).move(50).later(10)
    const trip = onlyTrip(ride.drive(300, 18, 10).wait(300).records)
    assert.equal(trip.pointCount, 61)
    assertNear(trip.distanceM, 3000 + bad * 50)
  }
  const parked = new Ride().wait(300, 10).record({ eastM: 5000 }).later(10).wait(300, 10).record()
  assert.deepEqual(spans(parked.records), { trips: [], stops: [[0, 610]] })
})

test('an unreachable speed is dropped', () => {
  const ride = new Ride().drive(300, 18, 1).record({ speedKmh: 190 }).move(5).later(1)
  const trip = onlyTrip(ride.drive(300, 18, 1).wait(300).records)
  assert.equal(trip.maxSpeedKmh, 18)
  assert.equal(trip.pointCount, 601)
})

test('a hard stop is not a spike', () => {
  const { records } = new Ride().drive(600, 100, 1).wait(300, 1)
  assert.deepEqual(spans(records, { maxAcceleration: 30 }).trips, [[0, 600]])
})

test('without the filter every fix counts', () => {
  const ride = new Ride().drive(300, 18, 10).record({ eastM: 5000, speedKmh: 18 }).later(10)
  const trip = onlyTrip(ride.drive(300, 18, 10).wait(300).records, { maxAcceleration: 0 })
  assert.equal(trip.pointCount, 62)
  assertNear(trip.distanceM, 290 * 5 + 2 * 5000 + 300 * 5, 2)
})

test('jitter does not prolong or create a trip, and adds no distance to a pause', () => {
  const jitter = (ride: Ride, n: number, kmh: number) => {
    for (let i = 0; i < n; i++) ride.record({ northM: (i % 3) * 4, speedKmh: i % 4 === 3 ? kmh : 0 }).later(10)
    return ride
  }
  assert.deepEqual(spans(jitter(new Ride().drive(600, 15), 60, 4).records).trips, [[0, 600]])
  const paused = jitter(new Ride().drive(300, 18, 10), 9, 2.9)
    .drive(300, 18, 10)
    .wait(300)
  // from where it seemed to stand when it left
  assertNear(onlyTrip(paused.records).distanceM, 600 * 5, 10)
})

test('movement too small to be a trip is part of the stop, unless it ends elsewhere', () => {
  const hop = (seconds: number, kmh: number) => new Ride().wait(600).drive(seconds, kmh, 10).wait(600).record().records
  assert.deepEqual(spans(hop(100, 16)), { trips: [], stops: [[0, 1300]] })
  const far = {
    trips: [],
    stops: [
      [0, 600],
      [700, 1300],
    ],
  }
  assert.deepEqual(spans(hop(100, 20)), far)
  assert.deepEqual(spans(hop(2000, 0.95), { speedThreshold: 0.5 }), {
    trips: [],
    stops: [
      [0, 600],
      [2600, 3200],
    ],
  })
})

test('records that are not fixes are counted and dropped, in whatever order they arrive', () => {
  const { records } = new Ride().wait(300).drive(600, 15).wait(300).record()
  const atMs = START_MS + 415_000
  const noFixes: GpsRecord[] = [
    { atMs, lat: 0, long: 0, speedKmh: 10 },
    { atMs, lat: 91, long: 0, speedKmh: 10 },
    { atMs, lat: 0, long: -180.1, speedKmh: 10 },
    { atMs, lat: Number.NaN, long: 5, speedKmh: 10 },
    { atMs, lat: 5, long: Number.POSITIVE_INFINITY, speedKmh: 10 },
  ]
  const unreadable = { atMs: Number.NaN, lat: 36, long: -121, speedKmh: 0 }
  const mixed = [...records, ...noFixes, unreadable, ...records].reverse()
  const expected = detectTrips(loadTrack(records), DEFAULT_TRIP_CONFIG)
  assert.deepEqual(detectTrips(loadTrack(mixed), DEFAULT_TRIP_CONFIG), {
    ...expected,
    positionsAnalyzed: 2 * records.length + noFixes.length,
  })
})

test('a speed that is negative or not a number counts as missing', () => {
  const { records } = new Ride().wait(300).drive(600, 15).wait(300).record()
  const missing = records.map((record) => ({ ...record, speedKmh: null }))
  const { trips } = detectTrips(loadTrack(missing), DEFAULT_TRIP_CONFIG)
  assert.equal(trips.length, 1)
  for (const speedKmh of [-1, Number.NaN, Number.POSITIVE_INFINITY]) {
    const odd = records.map((record) => ({ ...record, speedKmh }))
    assert.deepEqual(detectTrips(loadTrack(odd), DEFAULT_TRIP_CONFIG).trips, trips)
  }
})

test('decimals of the configuration are exact', () => {
  const drives = (silenceS: number) =>
    new Ride().drive(600, 15).record({ speedKmh: 15 }).later(silenceS).drive(600, 15).wait(300).records
  const config = { minimalNoDataDuration: 1001.001 }
  assert.equal(spans(drives(1001.001), config).trips.length, 1)
  assert.equal(spans(drives(1001.002), config).trips.length, 2)
  for (const speedThreshold of [2.3, 4.35, 1.001]) {
    const { records } = new Ride().drive(3000, speedThreshold, 10).wait(300)
    assert.equal(spans(records, { speedThreshold }).trips.length, 1)
  }
})

test('a pause belongs to the active trip until it is long enough to be a stop', () => {
  const { records } = new Ride().wait(300).drive(300, 15, 10).wait(60, 10).record()
  assert.equal(active(records, 660)?.trip.durationS, 360)
  assert.equal(active(records, 779)?.trip.pointCount, 37)
  assert.equal(active(records, 780), undefined)
})

test('a device that has not moved, or has just had a gap, has no active trip', () => {
  assert.equal(active(new Ride().wait(60, 10).records, 60), undefined)
  const gap = new Ride().drive(600, 15).record({ speedKmh: 15 }).later(2000).record()
  assert.equal(active(gap.records, 2600), undefined)
})

test('the last fix makes an active trip as soon as it moves, even as its only point', () => {
  const { records } = new Ride().wait(600).record({ speedKmh: 9 })
  const trip = active(records, 605)
  assert.deepEqual([trip?.speedKmh, trip?.trip.pointCount, trip?.trip.durationS], [9, 1, 0])
})

test('a spike at the end is not the position of the device', () => {
  const ride = new Ride().wait(300).drive(300, 15, 10)
  const { records } = ride.record({ eastM: 50_000, speedKmh: 15 })
  const trip = active(records, 605)
  assert.equal(trip?.lastPositionMs, START_MS + 590_000)
  assert.equal(trip?.lastPositionAgeS, 15)
  assert.equal(trip?.trip.pointCount, 30)
})

test('a fix of the future is invisible until its time, and one exactly as old as allowed still counts', () => {
  const { records } = new Ride().drive(600, 15, 10)
  assert.equal(active(records, 305)?.lastPositionMs, START_MS + 300_000)
  assert.equal(active(records, 890)?.lastPositionAgeS, 300)
  assert.equal(active(records, 890.001), undefined)
})

test('jitter wider than one place splits a stop into two pauses', () => {
  const ride = new Ride().drive(600, 15, 10).wait(100, 10).record({ northM: 25, speedKmh: 4 }).later(10)
  ride.record({ northM: -25, speedKmh: 4 }).later(10).wait(100, 10).drive(600, 15, 10).wait(300)
  assert.equal(spans(ride.records, { minimalTripDistance: 50 }).trips.length, 1)
  assert.equal(spans(ride.records, { minimalTripDistance: 51 }).trips.length, 2)
})
