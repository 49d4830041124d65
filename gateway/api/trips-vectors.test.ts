import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import {
  assertFigures,
  assertPlace,
  assertSpeed,
  type ExpectedStop,
  type ExpectedTrip,
  readTripVectors,
} from '#shared/testing/trip-vectors.ts'
import { toIso } from '#shared/time.ts'
import type { StopJson, TripFiguresJson } from '#shared/wire/trips.ts'
import { sendTrack } from '#testing/course/sent-track.ts'
import { ok, scene } from '#testing/scene.ts'

const { vectors, activeVectors } = readTripVectors()
/** First plausible year: device times before 2020 are rejected, so such a case is moved by ten years. */
const FIRST_YEAR_MS = Date.UTC(2020, 0, 1)
const TEN_YEARS_MS = Date.UTC(2026, 0, 1) - Date.UTC(2016, 0, 1)
const LATER_MS = Date.UTC(2028, 0, 1)
const HOUR_MS = 3_600_000
// allows its clock to be set back
const { g, clock } = scene({ overrides: { isTimeSynchronized: () => true }, nowMs: LATER_MS })

before(async () => {
  for (const { name, points } of [...vectors, ...activeVectors]) {
    const shiftMs = shiftOf(points)
    const fixes = points.map((point) => ({ ...point, atMs: point.atMs + shiftMs }))
    await sendTrack(await g.device(name), name, fixes)
  }
})

const shiftOf = (points: readonly { atMs: number }[]): number =>
  points.some(({ atMs }) => atMs < FIRST_YEAR_MS) ? TEN_YEARS_MS : 0

function queryOf(values: Record<string, number | string>): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(values)) query.set(name, String(value))
  return query.toString()
}

for (const { name, config, points, fromMs, toMs, expect } of vectors)
  test(`trips and stops: ${name}`, async () => {
    const shiftMs = shiftOf(points)
    const times = points.map(({ atMs }) => atMs)
    const from = toIso((fromMs ?? Math.min(...times) - HOUR_MS) + shiftMs)
    const to = toIso((toMs ?? Math.max(...times) + HOUR_MS) + shiftMs)
    const body = await ok(g.get(`/trips/${name}?${queryOf({ from, to, ...config })}`))
    assert.deepEqual(body.trips.map(timesOf), expect.trips.map(expectedTimes(shiftMs)), 'times of the trips')
    assert.deepEqual(body.stops.map(timesOf), expect.stops.map(expectedTimes(shiftMs)), 'times of the stops')
    for (const [i, expected] of expect.trips.entries()) assertFigures(body.trips[i], expected)
    for (const [i, { location }] of expect.stops.entries()) assertPlace(body.stops[i].location, location)
    assert.deepEqual(body.summary.configUsed, config)
  })

for (const { name, config, nowMs, maxAgeSeconds, lookbackSeconds, expect } of activeVectors)
  test(`active trip: ${name}`, async () => {
    clock.set(nowMs)
    const query = queryOf({ maxAgeSeconds, lookbackSeconds, ...config })
    const { body } = await g.get(`/trips/${name}/active?${query}`)
    assert.equal(body.active, expect.active)
    const { body: listed } = await g.get(`/trips/active?hardware_ids=${name}&${query}`)
    assert.deepEqual(listed.activeTrips, expect.active ? [body.activeTrip] : [])
    if (!expect.active) return
    const { activeTrip } = body
    assertSpeed(activeTrip.speed, expect.speed)
    assert.equal(Date.parse(activeTrip.last_position_at), expect.lastPositionMs)
    assert.equal(activeTrip.last_position_age_seconds, expect.last_position_age_seconds)
    assertPlace(activeTrip.location, expect.location)
    assert.deepEqual(timesOf(activeTrip.trip), expectedTimes(0)(expect.trip))
    assertFigures(activeTrip.trip, expect.trip)
  })

const timesOf = ({ startTime, endTime, duration }: TripFiguresJson | StopJson) => ({
  startMs: Date.parse(startTime),
  endMs: Date.parse(endTime),
  duration,
})

const expectedTimes =
  (shiftMs: number) =>
  ({ startMs, endMs, duration }: ExpectedTrip | ExpectedStop) => ({
    startMs: startMs + shiftMs,
    endMs: endMs + shiftMs,
    duration,
  })
