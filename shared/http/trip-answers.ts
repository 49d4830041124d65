import type { z } from 'zod'
import { DAY_MS } from '#shared/time.ts'
import type { FoundTrips } from '#shared/trips/found.ts'
import { TRIP_RANGE_MAX_MS, tripFeaturesSchema } from '#shared/wire/trips.ts'
import { invalidQuery } from './api-env.ts'
import { mergedItems } from './merged-items.ts'

export const GEO_JSON = 'application/geo+json'

/** From when to when, both inclusive, in milliseconds since 1970. */
interface TripRange {
  fromMs: number
  toMs: number
}

/** The answer of a list of trips, for programs and for maps. */
export function tripAnswer<Schema extends z.ZodType>(schema: Schema) {
  return {
    description: 'Trips and stops, by time.',
    content: { 'application/json': { schema }, [GEO_JSON]: { schema: tripFeaturesSchema } },
  }
}

const encoder = new TextEncoder()

/** A list of trips and stops as JSON, in pieces. */
export async function* tripListTexts(
  lists: readonly FoundTrips[],
  summary: object,
): AsyncGenerator<Uint8Array> {
  yield encoder.encode('{"trips":[')
  yield* mergedItems(lists.map(({ trips }) => trips))
  yield encoder.encode('],"stops":[')
  yield* mergedItems(lists.map(({ stops }) => stops))
  yield encoder.encode(`],"summary":${JSON.stringify(summary)}}`)
}

/** What trips may be looked for in. Source: spec 4.5 rule 6. */
export function requireTripRange(fromMs: number, toMs: number): TripRange {
  if (fromMs > toMs)
    throw invalidQuery({ name: 'from', code: 'invalid_range', detail: 'from must not be after to' })
  if (toMs - fromMs > TRIP_RANGE_MAX_MS) {
    const days = TRIP_RANGE_MAX_MS / DAY_MS
    throw invalidQuery({ name: 'to', code: 'range_too_large', detail: `to may be ${days} days after from` })
  }
  return { fromMs, toMs }
}

/** The range of a summary: the last 24 hours unless it is given. */
export function summaryRange(from: number | undefined, to: number | undefined, nowMs: number): TripRange {
  if (from === undefined && to === undefined) return { fromMs: nowMs - DAY_MS, toMs: nowMs }
  if (from !== undefined && to !== undefined) return requireTripRange(from, to)
  const name = from === undefined ? 'from' : 'to'
  throw invalidQuery({ name, code: 'missing_parameter', detail: 'from and to must be given together' })
}
