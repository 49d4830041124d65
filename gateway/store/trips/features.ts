import { indexAtOrAfter } from '#shared/telemetry/records.ts'
import { toIso } from '#shared/time.ts'
import type { Stop, Trip } from '#shared/trips/figures.ts'
import { detect } from '#shared/trips/found.ts'
import { toStopJson, toTripJson } from '#shared/trips/json.ts'
import { findSpikes } from '#shared/trips/spikes.ts'
import type { Track } from '#shared/trips/track.ts'
import type { ReaderTools } from '../telemetry/reader-tools.ts'
import { positionText } from './line.ts'
import { checkRoom, readTrack, type TrackQuery } from './track.ts'
import type { TripQuery } from './trips.ts'

export interface TripFeatureQuery extends TripQuery {
  /** So many fixes of trips are written at once, with some 55 bytes each. */
  fixesAtOnce: number
}

/** A trip as a GeoJSON Feature without its line. */
export interface TripFeature {
  startMs: number
  endMs: number
  /** JSON of its properties. */
  properties: string
  /** Times of the records between start and end that nobody was at. */
  spikesMs: Float64Array
}

export interface FoundTripFeatures {
  /** GeoJSON Features with commas between them: of the first trips, as many as are written at once. */
  trips: Uint8Array
  /** The trips after those; their lines are read a page at a time with `readTripTrack`. */
  longTrips: TripFeature[]
  /** GeoJSON Features with commas between them. */
  stops: Uint8Array
}

const encoder = new TextEncoder()

/** Finds out before anything is written whether each track can be read. Throws `too_many_positions`. */
export function checkTripRoom(tools: ReaderTools, queries: readonly TrackQuery[]): void {
  for (const query of queries) checkRoom(tools, query)
}

/** The trips and stops of a device for a map. Throws `too_many_positions` and `too_many_trips`. */
export function findTripFeatures(tools: ReaderTools, query: TripFeatureQuery): FoundTripFeatures {
  const { hardwareId } = query
  const track = readTrack(tools, query)
  const spikes = new Set(findSpikes(track, query.config).dropped)
  const { trips, stops } = detect(track, query)
  const written: string[] = []
  const longTrips: TripFeature[] = []
  let room = query.fixesAtOnce
  for (const trip of trips) {
    room -= trip.pointCount
    if (room >= 0) written.push(lineFeature(hardwareId, trip, track, spikes))
    else longTrips.push(longFeature(hardwareId, trip, track, spikes))
  }
  return {
    trips: encoder.encode(written.join(',')),
    longTrips,
    stops: encoder.encode(stops.map((stop) => pointFeature(hardwareId, stop)).join(',')),
  }
}

function propertiesOf(hardwareId: string, trip: Trip): string {
  return JSON.stringify({ kind: 'trip', ...toTripJson(hardwareId, trip) })
}

/** The fixes of a trip, spikes included. */
function* fixesOf({ startMs, endMs }: Trip, { atMs, count }: Track): Generator<number> {
  const first = indexAtOrAfter(atMs, startMs, 0, count)
  for (let fix = first; fix < count && (atMs[fix] ?? 0) <= endMs; fix++) yield fix
}

function lineFeature(hardwareId: string, trip: Trip, track: Track, spikes: ReadonlySet<number>): string {
  const coordinates: string[] = []
  const times: string[] = []
  for (const fix of fixesOf(trip, track)) {
    if (spikes.has(fix)) continue
    coordinates.push(positionText(track, fix))
    times.push(`"${toIso(track.atMs[fix] ?? 0)}"`)
  }
  const line = LINE_HEAD + coordinates.join(',')
  return `${line}${lineMiddle(propertiesOf(hardwareId, trip))}${times.join(',')}${LINE_END}`
}

function longFeature(hardwareId: string, trip: Trip, track: Track, spikes: ReadonlySet<number>): TripFeature {
  const dropped: number[] = []
  for (const fix of fixesOf(trip, track)) if (spikes.has(fix)) dropped.push(fix)
  return {
    startMs: trip.startMs,
    endMs: trip.endMs,
    properties: propertiesOf(hardwareId, trip),
    spikesMs: Float64Array.from(dropped, (fix) => track.atMs[fix] ?? 0),
  }
}

function pointFeature(hardwareId: string, stop: Stop): string {
  const { lat, long } = stop.place
  return JSON.stringify({
    type: 'Feature',
    geometry: { type: 'Point', coordinates: [long, lat] },
    properties: { kind: 'stop', ...toStopJson(hardwareId, stop) },
  })
}

/** What stands before the coordinates of a line. */
export const LINE_HEAD = '{"type":"Feature","geometry":{"type":"LineString","coordinates":['

/** What stands between the coordinates of a line and their times; the properties are an object with members. */
export function lineMiddle(properties: string): string {
  return `]},"properties":${properties.slice(0, -1)},"coordTimes":[`
}

/** What stands after the times. */
export const LINE_END = ']}}'
