import { fromE7 } from '#shared/geo.ts'
import { GPS, type GpsRecords } from '#shared/telemetry/records.ts'
import { toIso } from '#shared/time.ts'
import type { TimeRange } from '../telemetry/reader.ts'
import type { ReaderTools } from '../telemetry/reader-tools.ts'

export interface TripTrackQuery extends TimeRange {
  deviceId: number
  /** Times of what is left out. */
  spikesMs: Float64Array
  /** Records that are looked at. */
  limit: number
}

export interface TripTrackPage {
  /** JSON positions with commas between them, longitude first. */
  coordinates: Uint8Array
  /** Of each of them. */
  atMs: Float64Array
  /** From where to go on; null at the end. */
  nextMs: number | null
}

const encoder = new TextEncoder()

/** The fixes of a trip, a page at a time, without records at 0,0 and spikes. */
export function readTripTrack({ telemetry }: ReaderTools, query: TripTrackQuery): TripTrackPage {
  const { deviceId, fromMs, toMs, spikesMs, limit } = query
  const records = telemetry.page(GPS, deviceId, { fromMs, toMs, order: 'asc', limit })
  const { latE7, longE7 } = records
  const spikes = new Set(spikesMs)
  const positions: string[] = []
  const atMs: number[] = []
  for (const [i, recordMs] of records.atMs.entries()) {
    if ((latE7[i] === 0 && longE7[i] === 0) || spikes.has(recordMs)) continue
    positions.push(positionText(records, i))
    atMs.push(recordMs)
  }
  const lastMs = records.atMs.at(-1)
  return {
    coordinates: encoder.encode(positions.join(',')),
    atMs: Float64Array.from(atMs),
    nextMs: lastMs === undefined || records.atMs.length < limit ? null : lastMs + 1,
  }
}

/** A position as GeoJSON has it: longitude, then latitude. Source: RFC 7946 3.1.1 */
export function positionText({ latE7, longE7 }: GpsRecords, i: number): string {
  return `[${fromE7(longE7[i] ?? 0)},${fromE7(latE7[i] ?? 0)}]`
}

/** Times as JSON strings with commas between them. */
export function writeTrackTimes(_tools: ReaderTools, { atMs }: { atMs: Float64Array }): Uint8Array {
  return encoder.encode(Array.from(atMs, (ms) => `"${toIso(ms)}"`).join(','))
}
