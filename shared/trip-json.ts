import type { ActiveTrip } from './active-trip.ts'
import { toIso } from './time.ts'
import { type TripConfig, tripConfigOf } from './trip-config.ts'
import type { Stop, Trip } from './trip-figures.ts'
import type { TripReport } from './trips.ts'
import type {
  ActiveTripJson,
  DeviceTripsJson,
  StopJson,
  TripFiguresJson,
  TripJson,
  TripSummaryJson,
} from './wire/trips.ts'

export function toTripJson(hardwareId: string, trip: Trip): TripJson {
  return { hardware_id: hardwareId, ...toFiguresJson(trip) }
}

/** Carries the hardware id: a list of stops of many devices would be of no use without. */
export function toStopJson(hardwareId: string, { startMs, endMs, place, durationS }: Stop): StopJson {
  return {
    hardware_id: hardwareId,
    startTime: toIso(startMs),
    endTime: toIso(endMs),
    location: place,
    duration: durationS,
  }
}

export function toActiveTripJson(hardwareId: string, active: ActiveTrip): ActiveTripJson {
  return {
    hardware_id: hardwareId,
    speed: roundSpeed(active.speedKmh),
    last_position_at: toIso(active.lastPositionMs),
    last_position_age_seconds: active.lastPositionAgeS,
    location: active.place,
    trip: toFiguresJson(active.trip),
  }
}

/** What a list of trips sums up to; sums are of what was not rounded. */
export function toTotalsJson(reports: readonly TripReport[], config: TripConfig): DeviceTripsJson['summary'] {
  const trips = reports.flatMap((report) => report.trips)
  const stops = reports.flatMap((report) => report.stops)
  return {
    totalTrips: trips.length,
    totalStops: stops.length,
    totalDistance: roundDistance(sum(trips, ({ distanceM }) => distanceM)),
    totalDuration: roundDuration(sum(trips, ({ durationS }) => durationS)),
    totalStopDuration: roundDuration(sum(stops, ({ durationS }) => durationS)),
    positionsAnalyzed: sum(reports, ({ positionsAnalyzed }) => positionsAnalyzed),
    configUsed: tripConfigOf(config),
  }
}

/** What the trips of a device sum up to; speeds and mean are 0 where there are none. */
export function toTripSummaryJson(
  hardwareId: string,
  { fromMs, toMs }: { fromMs: number; toMs: number },
  { trips, stops, positionsAnalyzed }: TripReport,
): TripSummaryJson {
  const distanceM = sum(trips, (trip) => trip.distanceM)
  return {
    hardware_id: hardwareId,
    from: toIso(fromMs),
    to: toIso(toMs),
    totalTrips: trips.length,
    totalStops: stops.length,
    totalDistance: roundDistance(distanceM),
    totalTripDuration: roundDuration(sum(trips, ({ durationS }) => durationS)),
    totalStopDuration: roundDuration(sum(stops, ({ durationS }) => durationS)),
    maxSpeed: roundSpeed(trips.reduce((max, { maxSpeedKmh }) => Math.max(max, maxSpeedKmh), 0)),
    avgTripDistance: roundDistance(trips.length === 0 ? 0 : distanceM / trips.length),
    positionsAnalyzed,
  }
}

function toFiguresJson(trip: Trip): TripFiguresJson {
  return {
    startTime: toIso(trip.startMs),
    endTime: toIso(trip.endMs),
    startLocation: trip.start,
    endLocation: trip.end,
    distance: roundDistance(trip.distanceM),
    duration: trip.durationS,
    maxSpeed: roundSpeed(trip.maxSpeedKmh),
    avgSpeed: roundSpeed(trip.avgSpeedKmh),
    pointCount: trip.pointCount,
  }
}

function sum<Item>(items: readonly Item[], of: (item: Item) => number): number {
  return items.reduce((total, item) => total + of(item), 0)
}

/** Metres, to 0.1. */
function roundDistance(metres: number): number {
  return Math.round(metres * 10) / 10
}

/** km/h, to 0.01. */
function roundSpeed(kmh: number): number {
  return Math.round(kmh * 100) / 100
}

/** Seconds, to the millisecond they are known to: sums of fractions would show how computers add. */
function roundDuration(seconds: number): number {
  return Math.round(seconds * 1000) / 1000
}
