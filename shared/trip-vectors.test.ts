import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { z } from 'zod'
import { activeTrip } from './active-trip.ts'
import type { Place, Stop, Trip } from './trip-figures.ts'
import { loadTrack } from './trip-track.ts'
import { detectTrips } from './trips.ts'

const instantSchema = z.string().transform((text) => Date.parse(text))
const placeSchema = z.object({ lat: z.number(), long: z.number() })
const configSchema = z.object({
  speedThreshold: z.number(),
  minimalTripDuration: z.number(),
  minimalTripDistance: z.number(),
  minimalParkingDuration: z.number(),
  minimalNoDataDuration: z.number(),
  minimalAvgSpeed: z.number(),
  maxAcceleration: z.number(),
})
const tripSchema = z.object({
  startTime: instantSchema,
  endTime: instantSchema,
  startLocation: placeSchema,
  endLocation: placeSchema,
  distance: z.number(),
  duration: z.number(),
  maxSpeed: z.number(),
  avgSpeed: z.number(),
  pointCount: z.number(),
})
const stopSchema = z.object({
  startTime: instantSchema,
  endTime: instantSchema,
  location: placeSchema,
  duration: z.number(),
})
const caseSchema = z.object({
  name: z.string(),
  config: configSchema,
  points: z.array(
    z.object({
      t: instantSchema,
      lat: z.number().nullable(),
      long: z.number().nullable(),
      speed: z.number().nullable(),
    }),
  ),
})
const vectorsSchema = z.object({
  vectors: z.array(
    caseSchema.extend({
      from: instantSchema.optional(),
      to: instantSchema.optional(),
      expect: z.object({ trips: z.array(tripSchema), stops: z.array(stopSchema) }),
    }),
  ),
  activeVectors: z.array(
    caseSchema.extend({
      now: instantSchema,
      maxAgeSeconds: z.number(),
      lookbackSeconds: z.number(),
      expect: z.discriminatedUnion('active', [
        z.object({ active: z.literal(false) }),
        z.object({
          active: z.literal(true),
          speed: z.number(),
          last_position_at: instantSchema,
          last_position_age_seconds: z.number(),
          location: placeSchema,
          trip: tripSchema,
        }),
      ]),
    }),
  ),
})

const { vectors, activeVectors } = vectorsSchema.parse(
  JSON.parse(readFileSync(new URL('testing/trip-vectors.json', import.meta.url), 'utf8')),
)

for (const { name, config, points, from, to, expect } of vectors) {
  test(`trips and stops: ${name}`, () => {
    const { trips, stops } = detectTrips(load(points, from, to), config)
    assert.deepEqual(trips.map(times), expect.trips.map(expectedTimes), 'times of the trips')
    assert.deepEqual(stops.map(times), expect.stops.map(expectedTimes), 'times of the stops')
    for (const [i, expected] of expect.trips.entries()) assertTrip(trips[i], expected)
    for (const [i, { location }] of expect.stops.entries()) assertPlace(stops[i]?.place, location)
  })
}

for (const { name, config, points, now, maxAgeSeconds, lookbackSeconds, expect } of activeVectors) {
  test(`active trip: ${name}`, () => {
    const track = load(points, now - lookbackSeconds * 1000, now)
    const active = activeTrip(track, config, { nowMs: now, maxAgeSeconds })
    assert.equal(active !== undefined, expect.active)
    if (active === undefined || !expect.active) return
    assertNear(active.speedKmh, expect.speed, 0.1)
    assert.equal(active.lastPositionMs, expect.last_position_at)
    assert.equal(active.lastPositionAgeS, expect.last_position_age_seconds)
    assertPlace(active.place, expect.location)
    assert.deepEqual(times(active.trip), expectedTimes(expect.trip))
    assertTrip(active.trip, expect.trip)
  })
}

type Points = z.infer<typeof caseSchema>['points']

function load(points: Points, fromMs = -8.64e15, toMs = 8.64e15) {
  const records = points.map(({ t, lat, long, speed }) => ({
    atMs: t,
    lat: lat ?? Number.NaN,
    long: long ?? Number.NaN,
    speedKmh: speed,
  }))
  return loadTrack(records, { fromMs, toMs })
}

function times({ startMs, endMs, durationS }: Trip | Stop) {
  return { startMs, endMs, durationS }
}

function expectedTimes(expected: { startTime: number; endTime: number; duration: number }) {
  return { startMs: expected.startTime, endMs: expected.endTime, durationS: expected.duration }
}

function assertTrip(trip: Trip | undefined, expected: z.infer<typeof tripSchema>): void {
  assert.ok(trip !== undefined)
  assertNear(trip.distanceM, expected.distance, Math.max(1, expected.distance * 0.005))
  assertNear(trip.maxSpeedKmh, expected.maxSpeed, 0.1)
  assertNear(trip.avgSpeedKmh, expected.avgSpeed, Math.max(0.05, expected.avgSpeed * 0.005))
  assert.equal(trip.pointCount, expected.pointCount)
  assertPlace(trip.start, expected.startLocation)
  assertPlace(trip.end, expected.endLocation)
}

function assertPlace(place: Place | undefined, expected: Place): void {
  assertNear(place?.lat, expected.lat, 1e-6)
  assertNear(place?.long, expected.long, 1e-6)
}

function assertNear(actual: number | undefined, expected: number, tolerance: number): void {
  assert.ok(actual !== undefined && Math.abs(actual - expected) <= tolerance, `${actual} is not ${expected}`)
}
