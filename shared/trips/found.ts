import { InvalidRequestError } from '#shared/errors.ts'
import type { ListOrder } from '#shared/wire/schema/params.ts'
import type { TripConfig } from './config.ts'
import { detectTrips, type TripReport } from './detect.ts'
import { TooManyTripsError } from './finder.ts'
import { sumsOf, type TripSums, toStopJson, toTripJson } from './json.ts'
import type { Track } from './track.ts'

/** Device whose trips are searched, and the definition of a trip. */
export interface TripRules {
  hardwareId: string
  config: TripConfig
  /** Maximum number of trips and stops; minima of zero can make a trip of every other fix. */
  foundMax: number
}

export interface TripListRules extends TripRules {
  /** Order by start time. */
  order: ListOrder
}

/** Consecutive JSON objects with commas between them. */
export interface JsonItems {
  text: Uint8Array<ArrayBuffer>
  /** End offset of each object in the text. */
  ends: Uint32Array<ArrayBuffer>
  /** Start time of each object, in the order of the list. */
  startMs: Float64Array<ArrayBuffer>
}

/** Trips and stops of a device as text: thousands of objects would be copied between threads and then serialised. */
export interface FoundTrips {
  trips: JsonItems
  stops: JsonItems
  sums: TripSums
}

const encoder = new TextEncoder()

/** Returns the trips and stops of a track as text. Throws `too_many_trips`. */
export function findTripsIn(track: Track, rules: TripListRules): FoundTrips {
  const { hardwareId, order } = rules
  const report = detect(track, rules)
  return {
    trips: jsonItems(report.trips, order, (trip) => toTripJson(hardwareId, trip)),
    stops: jsonItems(report.stops, order, (stop) => toStopJson(hardwareId, stop)),
    sums: sumsOf(report),
  }
}

/** Like `detectTrips`, but with an error for the caller. */
export function detect(track: Track, { hardwareId, config, foundMax }: TripRules): TripReport {
  return withReason(hardwareId, () => detectTrips(track, config, foundMax))
}

/** Runs `work` on the track of a device. Converts `TooManyTripsError` to `too_many_trips`. */
export function withReason<Result>(hardwareId: string, work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof TooManyTripsError)) throw error
    const detail = `${hardwareId} has ${error.message} in the range: choose a shorter one or higher minima`
    throw new InvalidRequestError('too_many_trips', detail)
  }
}

function jsonItems<Item extends { startMs: number }>(
  ascending: readonly Item[],
  order: ListOrder,
  toJson: (item: Item) => unknown,
): JsonItems {
  const items = order === 'asc' ? ascending : ascending.toReversed()
  const texts = items.map((item) => JSON.stringify(toJson(item)))
  const ends = new Uint32Array(texts.length)
  let end = -1
  // one byte per character: it contains only numbers, times and ASCII ids
  for (const [i, { length }] of texts.entries()) {
    end += length + 1
    ends[i] = end
  }
  return {
    text: encoder.encode(texts.join(',')),
    ends,
    startMs: Float64Array.from(items, ({ startMs }) => startMs),
  }
}
