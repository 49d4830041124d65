import type { GpsRecords } from '#shared/telemetry/records.ts'
import type { TripConfig } from '#shared/trips/config.ts'
import { detectTrips } from '#shared/trips/detect.ts'
import type { Trip } from '#shared/trips/figures.ts'

/** Metres driven by the rules of trips, without spikes, gaps and GPS jitter, for any length of the movement. */
export function distanceDrivenM(fixes: GpsRecords, config: TripConfig): number {
  const any = { ...config, minimalTripDuration: 0, minimalTripDistance: 0, minimalAvgSpeed: 0 }
  return tripsOf(fixes, any).reduce((sum, { distanceM }) => sum + distanceM, 0)
}

/** Trips of a cart without a parking zone; it counts as out for as long as they last. */
export function tripsOf(fixes: GpsRecords, config: TripConfig): readonly Trip[] {
  const count = fixes.atMs.length
  return detectTrips({ ...fixes, count, recordCount: count }, config).trips
}
