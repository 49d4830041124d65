import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type ExpectedTrip,
  readTripVectors,
  TOLERANCES,
  type VectorPoint,
} from '#shared/testing/trip-vectors.ts'
import { activeTrip } from './active.ts'
import { detectTrips } from './detect.ts'
import type { Place, Stop, Trip } from './figures.ts'
import { loadTrack } from './track.ts'

const { vectors, activeVectors } = readTripVectors()

for (const { name, config, points, fromMs, toMs, expect } of vectors) {
  test(`trips and stops: ${name}`, () => {
    const { trips, stops } = detectTrips(load(points, fromMs, toMs), config)
    assert.deepEqual(trips.map(times), expect.trips.map(expectedTimes), 'times of the trips')
    assert.deepEqual(stops.map(times), expect.stops.map(expectedTimes), 'times of the stops')
    for (const [i, expected] of expect.trips.entries()) assertTrip(trips[i], expected)
    for (const [i, { location }] of expect.stops.entries()) assertPlace(stops[i]?.place, location)
  })
}

for (const { name, config, points, nowMs, maxAgeSeconds, lookbackSeconds, expect } of activeVectors) {
  test(`active trip: ${name}`, () => {
    const track = load(points, nowMs - lookbackSeconds * 1000, nowMs)
    const active = activeTrip(track, config, { nowMs, maxAgeSeconds })
    assert.equal(active !== undefined, expect.active)
    if (active === undefined || !expect.active) return
    assertNear(active.speedKmh, expect.speed, TOLERANCES.maxSpeed())
    assert.equal(active.lastPositionMs, expect.lastPositionMs)
    assert.equal(active.lastPositionAgeS, expect.last_position_age_seconds)
    assertPlace(active.place, expect.location)
    assert.deepEqual(times(active.trip), expectedTimes(expect.trip))
    assertTrip(active.trip, expect.trip)
  })
}

function load(points: readonly VectorPoint[], fromMs = -8.64e15, toMs = 8.64e15) {
  const records = points.map(({ atMs, lat, long, speed }) => ({
    atMs,
    lat: lat ?? Number.NaN,
    long: long ?? Number.NaN,
    speedKmh: speed,
  }))
  return loadTrack(records, { fromMs, toMs })
}

function times({ startMs, endMs, durationS }: Trip | Stop) {
  return { startMs, endMs, durationS }
}

function expectedTimes({ startMs, endMs, duration }: { startMs: number; endMs: number; duration: number }) {
  return { startMs, endMs, durationS: duration }
}

function assertTrip(trip: Trip | undefined, expected: ExpectedTrip): void {
  assert.ok(trip !== undefined)
  assertNear(trip.distanceM, expected.distance, TOLERANCES.distance(expected.distance))
  assertNear(trip.maxSpeedKmh, expected.maxSpeed, TOLERANCES.maxSpeed())
  assertNear(trip.avgSpeedKmh, expected.avgSpeed, TOLERANCES.avgSpeed(expected.avgSpeed))
  assert.equal(trip.pointCount, expected.pointCount)
  assertPlace(trip.start, expected.startLocation)
  assertPlace(trip.end, expected.endLocation)
}

function assertPlace(place: Place | undefined, expected: Place): void {
  assertNear(place?.lat, expected.lat, TOLERANCES.degrees)
  assertNear(place?.long, expected.long, TOLERANCES.degrees)
}

function assertNear(actual: number | undefined, expected: number, tolerance: number): void {
  assert.ok(actual !== undefined && Math.abs(actual - expected) <= tolerance, `${actual} is not ${expected}`)
}
