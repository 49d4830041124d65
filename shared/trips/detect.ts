import type { TripConfig } from './config.ts'
import { type Stop, stopOf, type Trip, tripOf } from './figures.ts'
import { TripFinder } from './finder.ts'
import { walkLegs } from './legs.ts'
import { findSpikes } from './spikes.ts'
import type { Track } from './track.ts'

export interface TripReport {
  /** In chronological order, like `stops`. */
  trips: Trip[]
  stops: Stop[]
  /** Number of records in the range, including spikes and those without a fix. */
  positionsAnalyzed: number
}

/**
 * Detects the trips and stops of one device. Nothing outside the track is known: if a trip or stop is in progress at
 * either end, the part inside is reported if it qualifies alone, so a trip over midnight appears as one part in each
 * day's query. Movement between two different places that is not a trip is in neither list. Takes time in proportion to
 * the fixes and next to none for a parked device. With minima of zero every other fix can be a trip: throws
 * `TooManyTripsError` as soon as there are more than `foundMax` trips and stops.
 */
export function detectTrips(track: Track, config: TripConfig, foundMax?: number): TripReport {
  const spikes = findSpikes(track, config)
  const finder = new TripFinder(track, config, foundMax)
  const lastFix = walkLegs(track, spikes, config, finder)
  if (lastFix === undefined) return { trips: [], stops: [], positionsAnalyzed: track.recordCount }
  const { trips, stops } = finder.end(lastFix)
  return {
    trips: trips.map((run) => tripOf(track, spikes, run)),
    stops: stops.map((stop) => stopOf(track, stop)),
    positionsAnalyzed: track.recordCount,
  }
}
