import { type FoundTripFeatures, findFeaturesIn, type TripFeatureRules } from '#shared/trips/features.ts'
import type { ReaderTools } from '../telemetry/reader-tools.ts'
import { checkRoom, readTrack, type TrackQuery } from './track.ts'

interface TripFeatureQuery extends TrackQuery, TripFeatureRules {}

/** Checks before any output is written that each track can be read. Throws `too_many_positions`. */
export function checkTripRoom(tools: ReaderTools, queries: readonly TrackQuery[]): void {
  for (const query of queries) checkRoom(tools, query)
}

/** Trips and stops of a device for a map. Throws `too_many_positions` and `too_many_trips`. */
export function findTripFeatures(tools: ReaderTools, query: TripFeatureQuery): FoundTripFeatures {
  return findFeaturesIn(readTrack(tools, query), query)
}
