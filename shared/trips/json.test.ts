import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ride } from '#shared/testing/ride.ts'
import {
  activeTripSchema,
  activeTripsSchema,
  deviceActiveTripSchema,
  deviceTripsSchema,
  stopSchema,
  TRIP_DEVICES_MAX,
  TRIP_RANGE_MAX_MS,
  tripSchema,
  tripSummarySchema,
  tripsSchema,
} from '#shared/wire/trips.ts'
import { activeTrip } from './active.ts'
import { DEFAULT_TRIP_CONFIG } from './config.ts'
import { detectTrips } from './detect.ts'
import { sumsOf, toActiveTripJson, toStopJson, toTotalsJson, toTripJson, toTripSummaryJson } from './json.ts'
import { loadTrack } from './track.ts'

const config = { ...DEFAULT_TRIP_CONFIG }

/** Two drives of 610 s at 15.1234 km/h, 2562.58 m, between stops of 300 s. */
function shift(): Ride {
  return new Ride().wait(300).drive(610, 15.1234, 10).wait(300).drive(610, 15.1234, 10).wait(300).record()
}

test('trips and stops are written in the documented units and precision', () => {
  const { trips, stops } = detectTrips(loadTrack(shift().records), config)
  assert.deepEqual(
    trips.slice(0, 1).map((trip) => tripSchema.strict().parse(toTripJson('cart-1', trip))),
    [
      {
        hardware_id: 'cart-1',
        startTime: '2026-05-04T08:05:00.000Z',
        endTime: '2026-05-04T08:15:10.000Z',
        startLocation: { lat: 36.568, long: -121.95 },
        endLocation: { lat: 36.5910458, long: -121.95 },
        distance: 2562.6,
        duration: 610,
        maxSpeed: 15.12,
        avgSpeed: 15.12,
        pointCount: 62,
      },
    ],
  )
  assert.deepEqual(
    stops.slice(1, 2).map((stop) => stopSchema.strict().parse(toStopJson('cart-1', stop))),
    [
      {
        hardware_id: 'cart-1',
        startTime: '2026-05-04T08:15:10.000Z',
        endTime: '2026-05-04T08:20:10.000Z',
        location: { lat: 36.5910458, long: -121.95 },
        duration: 300,
      },
    ],
  )
})

test('totals are summed over all devices before they are rounded', () => {
  const report = detectTrips(loadTrack(shift().records), config)
  const query = { ...config, from: 1, to: 2 }
  const summary = deviceTripsSchema.shape.summary.strict().parse(toTotalsJson([sumsOf(report), sumsOf(report)], query))
  assert.deepEqual(summary, {
    totalTrips: 4,
    totalStops: 6,
    totalDistance: 10_250.3,
    totalDuration: 2440,
    totalStopDuration: 1800,
    positionsAnalyzed: 2 * report.positionsAnalyzed,
    configUsed: config,
  })
})

test('a summary without trips has zeros', () => {
  const range = { fromMs: 0, toMs: TRIP_RANGE_MAX_MS }
  const nothing = { trips: [], stops: [], positionsAnalyzed: 0 }
  assert.deepEqual(tripSummarySchema.strict().parse(toTripSummaryJson('cart-1', range, sumsOf(nothing))), {
    hardware_id: 'cart-1',
    from: '1970-01-01T00:00:00.000Z',
    to: '1970-02-01T00:00:00.000Z',
    totalTrips: 0,
    totalStops: 0,
    totalDistance: 0,
    totalTripDuration: 0,
    totalStopDuration: 0,
    maxSpeed: 0,
    avgTripDistance: 0,
    positionsAnalyzed: 0,
  })
})

test('a summary has the fastest trip and the mean of its trips', () => {
  const report = detectTrips(loadTrack(shift().records), config)
  const summary = toTripSummaryJson('cart-1', { fromMs: 0, toMs: 1 }, sumsOf(report))
  assert.equal(summary.maxSpeed, 15.12)
  assert.equal(summary.avgTripDistance, 2562.6)
  assert.equal(summary.totalTripDuration, 1220)
})

test('an active trip is written with the figures of the trip so far', () => {
  const ride = new Ride().wait(300).drive(100, 15.1234, 10)
  const query = { nowMs: ride.atMs - 5500, maxAgeSeconds: 300 }
  const active = activeTrip(loadTrack(ride.records), config, query)
  assert.ok(active !== undefined)
  const json = activeTripSchema.strict().parse(toActiveTripJson('cart-1', active))
  assert.equal(json.speed, 15.12)
  assert.equal(json.last_position_at, '2026-05-04T08:06:30.000Z')
  assert.equal(json.last_position_age_seconds, 4.5)
  assert.deepEqual(json.location, json.trip.endLocation)
  assert.equal(json.trip.duration, 90)
  assert.equal(json.trip.distance, 378.1)
  assert.ok(!('hardware_id' in json.trip))
})

test('a response about active trips has the trip, or states that the device has none', () => {
  const ride = new Ride().wait(300).drive(100, 15, 10)
  const active = activeTrip(loadTrack(ride.records), config, { nowMs: ride.atMs, maxAgeSeconds: 300 })
  assert.ok(active !== undefined)
  const activeTripJson = toActiveTripJson('cart-1', active)
  const summary = { configUsed: config, maxAgeSeconds: 300, lookbackSeconds: 14_400 }
  for (const answer of [
    { hardware_id: 'cart-1', active: true, activeTrip: activeTripJson, summary },
    { hardware_id: 'cart-2', active: false, summary },
  ]) {
    assert.deepEqual(deviceActiveTripSchema.parse(answer), answer)
  }
  const list = { activeTrips: [activeTripJson], summary: { ...summary, activeCount: 1, devicesQueried: 2 } }
  assert.deepEqual(activeTripsSchema.parse(list), list)
})

test('the response for many devices has the number of requested devices', () => {
  const report = detectTrips(loadTrack(shift().records), config)
  const answer = {
    trips: report.trips.map((trip) => toTripJson('cart-1', trip)),
    stops: report.stops.map((stop) => toStopJson('cart-1', stop)),
    summary: { ...toTotalsJson([sumsOf(report)], config), devicesQueried: 1 },
  }
  assert.deepEqual(tripsSchema.parse(answer), answer)
})

test('fifty devices and thirty-one days are the limits of one request', () => {
  assert.equal(TRIP_DEVICES_MAX, 50)
  assert.equal(TRIP_RANGE_MAX_MS, 2_678_400_000)
})
