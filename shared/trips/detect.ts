import type { TripConfig } from './config.ts'
import { type Stop, stopOf, type Trip, tripOf } from './figures.ts'
import { TripFinder } from './finder.ts'
import { walkLegs } from './legs.ts'
import { findSpikes } from './spikes.ts'
import type { Track } from './track.ts'

export interface TripReport {
  /** In time order; the same for `stops`. */
  trips: Trip[]
  stops: Stop[]
  /** Records of the range, those that were no fixes and spikes included. */
  positionsAnalyzed: number
}

/**
 * Finds the trips and stops of one device. Nothing outside the track is known: of what is under way at either end the
 * part inside is reported if it is a trip or a stop by itself, so a trip over midnight is one part in each day's query.
 * Movement that is no trip, between two different places, is in neither list. Takes time in proportion to the fixes and
 * next to none for a parked device. With minima of zero every other fix can be a trip: throws `TooManyTripsError` as
 * soon as there are more than `foundMax` trips and stops.
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
