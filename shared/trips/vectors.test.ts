import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  assertFigures,
  assertPlace,
  assertSpeed,
  type ExpectedTrip,
  readTripVectors,
  type VectorPoint,
} from '#shared/testing/trip-vectors.ts'
import { activeTrip } from './active.ts'
import { detectTrips } from './detect.ts'
import type { Stop, Trip } from './figures.ts'
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
    assertSpeed(active.speedKmh, expect.speed)
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
  const { distanceM: distance, maxSpeedKmh: maxSpeed, avgSpeedKmh: avgSpeed, pointCount, start, end } = trip
  const places = { startLocation: start, endLocation: end }
  assertFigures({ distance, maxSpeed, avgSpeed, pointCount, ...places }, expected)
}
