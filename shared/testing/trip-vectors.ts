import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type { TripConfig } from '#shared/trips/config.ts'
import type { Place } from '#shared/trips/figures.ts'

export interface VectorPoint {
  atMs: number
  lat: number | null
  long: number | null
  speed: number | null
}

export interface ExpectedTrip {
  startMs: number
  endMs: number
  startLocation: Place
  endLocation: Place
  distance: number
  duration: number
  maxSpeed: number
  avgSpeed: number
  pointCount: number
}

export interface ExpectedStop {
  startMs: number
  endMs: number
  location: Place
  duration: number
}

interface WorkedCase {
  name: string
  config: TripConfig
  /** In the order of receipt. */
  points: VectorPoint[]
}

export interface TripVector extends WorkedCase {
  fromMs?: number
  toMs?: number
  expect: { trips: ExpectedTrip[]; stops: ExpectedStop[] }
}

export interface ActiveTripVector extends WorkedCase {
  nowMs: number
  maxAgeSeconds: number
  lookbackSeconds: number
  expect:
    | { active: false }
    | {
        active: true
        speed: number
        lastPositionMs: number
        last_position_age_seconds: number
        location: Place
        trip: ExpectedTrip
      }
}

/** Converted names of times. */
const TIMES: Readonly<Record<string, string>> = {
  t: 'atMs',
  from: 'fromMs',
  to: 'toMs',
  now: 'nowMs',
  startTime: 'startMs',
  endTime: 'endMs',
  last_position_at: 'lastPositionMs',
}

/** Worked cases of trip detection, with times in milliseconds since 1970. */
export function readTripVectors(): { vectors: TripVector[]; activeVectors: ActiveTripVector[] } {
  const text = readFileSync(new URL('trip-vectors.json', import.meta.url), 'utf8')
  // the file follows its own `format`
  return withTimes(JSON.parse(text)) as { vectors: TripVector[]; activeVectors: ActiveTripVector[] }
}

function withTimes(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withTimes)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => {
      const time = TIMES[name]
      return time === undefined ? [name, withTimes(part)] : [time, Date.parse(String(part))]
    }),
  )
}

/** Permitted deviation of a figure. */
const TOLERANCES = {
  distance: (expected: number) => Math.max(1, expected * 0.005),
  speed: 0.1,
  avgSpeed: (expected: number) => Math.max(0.05, expected * 0.005),
  degrees: 1e-6,
}

/** Figures of a trip that both programs return, except for its times. */
type Figures = Omit<ExpectedTrip, 'startMs' | 'endMs' | 'duration'>

export function assertFigures(figures: Figures, expected: Figures): void {
  assertNear(figures.distance, expected.distance, TOLERANCES.distance(expected.distance))
  assertSpeed(figures.maxSpeed, expected.maxSpeed)
  assertNear(figures.avgSpeed, expected.avgSpeed, TOLERANCES.avgSpeed(expected.avgSpeed))
  assert.equal(figures.pointCount, expected.pointCount)
  assertPlace(figures.startLocation, expected.startLocation)
  assertPlace(figures.endLocation, expected.endLocation)
}

export function assertPlace(place: Place | undefined, expected: Place): void {
  assertNear(place?.lat, expected.lat, TOLERANCES.degrees)
  assertNear(place?.long, expected.long, TOLERANCES.degrees)
}

/** Speed at one time. */
export function assertSpeed(speedKmh: number, expected: number): void {
  assertNear(speedKmh, expected, TOLERANCES.speed)
}

function assertNear(actual: number | undefined, expected: number, tolerance: number): void {
  assert.ok(actual !== undefined && Math.abs(actual - expected) <= tolerance, `${actual} is not ${expected}`)
}
