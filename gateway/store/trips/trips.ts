import { type FoundTrips, findTripsIn, type TripListRules } from '#shared/trips/found.ts'
import type { ReaderTools } from '../telemetry/reader-tools.ts'
import { readTrack, type TrackQuery } from './track.ts'

export interface TripQuery extends TrackQuery, TripListRules {}

/** Throws `too_many_positions` and `too_many_trips`. */
export function findTrips(tools: ReaderTools, query: TripQuery): FoundTrips {
  return findTripsIn(readTrack(tools, query), query)
}
