import { fromE7 } from '#shared/geo.ts'
import { type GpsRecords, indexAtOrAfter } from '#shared/telemetry/records.ts'
import { toIso } from '#shared/time.ts'
import type { Stop, Trip } from './figures.ts'
import { detect, type TripRules } from './found.ts'
import { toStopJson, toTripJson } from './json.ts'
import { findSpikes } from './spikes.ts'
import type { Track } from './track.ts'

export interface TripFeatureRules extends TripRules {
  /** Maximum number of trip fixes that are written together, about 55 bytes each. */
  fixesAtOnce: number
}

/** Trip as a GeoJSON Feature without its line. */
export interface TripFeature {
  startMs: number
  endMs: number
  /** JSON of its properties. */
  properties: string
  /** Times of the records between start and end that are spikes. */
  spikesMs: Float64Array
}

export interface FoundTripFeatures {
  /** GeoJSON Features with commas between them: the first trips, up to `fixesAtOnce`. */
  trips: Uint8Array
  /** Trips after those; their lines are read page by page. */
  longTrips: TripFeature[]
  /** GeoJSON Features with commas between them. */
  stops: Uint8Array
}

const encoder = new TextEncoder()

/** Text before and after the features. */
export const GEOJSON_HEAD = '{"type":"FeatureCollection","features":['
export const GEOJSON_END = ']}'

/** Returns the trips and stops of a track as GeoJSON. Throws `too_many_trips`. */
export function findFeaturesIn(track: Track, rules: TripFeatureRules): FoundTripFeatures {
  const { hardwareId } = rules
  const spikes = new Set(findSpikes(track, rules.config).dropped)
  const { trips, stops } = detect(track, rules)
  const written: string[] = []
  const longTrips: TripFeature[] = []
  let room = rules.fixesAtOnce
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

/** Fixes of a trip, including spikes. */
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

/** Text before the coordinates of a line. */
export const LINE_HEAD = '{"type":"Feature","geometry":{"type":"LineString","coordinates":['

/** Text between the coordinates of a line and their times; the properties are a non-empty object. */
export function lineMiddle(properties: string): string {
  return `]},"properties":${properties.slice(0, -1)},"coordTimes":[`
}

/** Text after the times. */
export const LINE_END = ']}}'

/** GeoJSON position: longitude, then latitude. Source: RFC 7946 3.1.1 */
function positionText({ latE7, longE7 }: GpsRecords, i: number): string {
  return `[${fromE7(longE7[i] ?? 0)},${fromE7(latE7[i] ?? 0)}]`
}

export interface LinePage {
  /** JSON positions with commas between them, longitude first. */
  coordinates: Uint8Array
  atMs: Float64Array
}

/** Returns the positions of records, without spikes and those at 0,0. */
export function linePageOf(records: GpsRecords, spikesMs: Float64Array): LinePage {
  const { latE7, longE7 } = records
  const spikes = new Set(spikesMs)
  const positions: string[] = []
  const atMs: number[] = []
  for (const [i, recordMs] of records.atMs.entries()) {
    if ((latE7[i] === 0 && longE7[i] === 0) || spikes.has(recordMs)) continue
    positions.push(positionText(records, i))
    atMs.push(recordMs)
  }
  return { coordinates: encoder.encode(positions.join(',')), atMs: Float64Array.from(atMs) }
}

/** Formats times as JSON strings with commas between them. */
export function timesText(atMs: Float64Array): Uint8Array {
  return encoder.encode(Array.from(atMs, (ms) => `"${toIso(ms)}"`).join(','))
}
