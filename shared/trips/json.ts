import { toIso } from '#shared/time.ts'
import type {
  ActiveTripJson,
  DeviceTripsJson,
  StopJson,
  TripFiguresJson,
  TripJson,
  TripSummaryJson,
} from '#shared/wire/trips.ts'
import type { ActiveTrip } from './active.ts'
import { type TripConfig, tripConfigOf } from './config.ts'
import type { TripReport } from './detect.ts'
import type { Stop, Trip } from './figures.ts'

export function toTripJson(hardwareId: string, trip: Trip): TripJson {
  return { hardware_id: hardwareId, ...toFiguresJson(trip) }
}

/** Includes the hardware id, which a list of stops of several devices needs. */
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

/** Sums over the trips and stops of a device, unrounded. */
export interface TripSums {
  trips: number
  stops: number
  distanceM: number
  tripsS: number
  stopsS: number
  maxSpeedKmh: number
  positionsAnalyzed: number
}

export function sumsOf({ trips, stops, positionsAnalyzed }: TripReport): TripSums {
  return {
    trips: trips.length,
    stops: stops.length,
    distanceM: sum(trips, ({ distanceM }) => distanceM),
    tripsS: sum(trips, ({ durationS }) => durationS),
    stopsS: sum(stops, ({ durationS }) => durationS),
    maxSpeedKmh: trips.reduce((max, { maxSpeedKmh }) => Math.max(max, maxSpeedKmh), 0),
    positionsAnalyzed,
  }
}

/** Totals of a list of trips, of one or more devices. */
export function toTotalsJson(devices: readonly TripSums[], config: TripConfig): DeviceTripsJson['summary'] {
  return {
    totalTrips: sum(devices, ({ trips }) => trips),
    totalStops: sum(devices, ({ stops }) => stops),
    totalDistance: roundDistance(sum(devices, ({ distanceM }) => distanceM)),
    totalDuration: roundDuration(sum(devices, ({ tripsS }) => tripsS)),
    totalStopDuration: roundDuration(sum(devices, ({ stopsS }) => stopsS)),
    positionsAnalyzed: sum(devices, ({ positionsAnalyzed }) => positionsAnalyzed),
    configUsed: tripConfigOf(config),
  }
}

/** Summary of one device; speeds and means are 0 without trips. */
export function toTripSummaryJson(
  hardwareId: string,
  { fromMs, toMs }: { fromMs: number; toMs: number },
  { trips, stops, distanceM, tripsS, stopsS, maxSpeedKmh, positionsAnalyzed }: TripSums,
): TripSummaryJson {
  return {
    hardware_id: hardwareId,
    from: toIso(fromMs),
    to: toIso(toMs),
    totalTrips: trips,
    totalStops: stops,
    totalDistance: roundDistance(distanceM),
    totalTripDuration: roundDuration(tripsS),
    totalStopDuration: roundDuration(stopsS),
    maxSpeed: roundSpeed(maxSpeedKmh),
    avgTripDistance: roundDistance(trips === 0 ? 0 : distanceM / trips),
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

/** Metres, rounded to 0.1. */
function roundDistance(metres: number): number {
  return Math.round(metres * 10) / 10
}

/** km/h, rounded to 0.01. */
function roundSpeed(kmh: number): number {
  return Math.round(kmh * 100) / 100
}

/** Seconds, rounded to the millisecond, which removes rounding errors of sums. */
function roundDuration(seconds: number): number {
  return Math.round(seconds * 1000) / 1000
}
