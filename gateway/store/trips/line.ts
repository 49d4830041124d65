import { GPS } from '#shared/telemetry/records.ts'
import { type LinePage, linePageOf, timesText } from '#shared/trips/features.ts'
import type { TimeRange } from '../telemetry/reader.ts'
import type { ReaderTools } from '../telemetry/reader-tools.ts'

export interface TripTrackQuery extends TimeRange {
  deviceId: number
  /** Times of left-out fixes. */
  spikesMs: Float64Array
  /** Maximum number of records read. */
  limit: number
}

export interface TripTrackPage extends LinePage {
  /** Start of the next page; null at the end. */
  nextMs: number | null
}

/** Fixes of a trip, a page at a time, without records at 0,0 and spikes. */
export function readTripTrack({ telemetry }: ReaderTools, query: TripTrackQuery): TripTrackPage {
  const { deviceId, fromMs, toMs, spikesMs, limit } = query
  const records = telemetry.page(GPS, deviceId, { fromMs, toMs, order: 'asc', limit })
  const lastMs = records.atMs.at(-1)
  const nextMs = lastMs === undefined || records.atMs.length < limit ? null : lastMs + 1
  return { ...linePageOf(records, spikesMs), nextMs }
}

/** Times as JSON strings separated by commas. */
export function writeTrackTimes(_tools: ReaderTools, { atMs }: { atMs: Float64Array }): Uint8Array {
  return timesText(atMs)
}
