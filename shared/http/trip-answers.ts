import type { Context } from 'hono'
import type { z } from 'zod'
import { csvHeader, csvLines } from '#shared/history/csv-lines.ts'
import { isCalendarDate, type TimeZone } from '#shared/site/time-zone.ts'
import { DAY_MS } from '#shared/time.ts'
import { type TripConfig, type TripConfigChoice, tripConfigOf } from '#shared/trips/config.ts'
import type { FoundTrips } from '#shared/trips/found.ts'
import { toTotalsJson } from '#shared/trips/json.ts'
import type { ListOrder } from '#shared/wire/schema/params.ts'
import {
  type ActiveTripJson,
  TRIP_DEVICES_MAX,
  TRIP_RANGE_MAX_MS,
  tripFeaturesSchema,
  tripSchema,
} from '#shared/wire/trips.ts'
import { invalidQuery, requireOrder } from './api-env.ts'
import { attachment } from './attachment.ts'
import { CSV_CONTENT, CSV_TYPE, csvColumns } from './csv.ts'
import { acceptedFormat } from './history-answers.ts'
import { mergedItems } from './merged-items.ts'
import { streamed } from './responses.ts'

export const GEO_JSON = 'application/geo+json'

/** Time range with inclusive bounds, in milliseconds since 1970. */
interface TripRange {
  fromMs: number
  toMs: number
}

/** Response of a trip list as JSON, GeoJSON or CSV. */
export function tripAnswer<Schema extends z.ZodType>(schema: Schema) {
  return {
    description: 'Trips and stops in chronological order.',
    content: { 'application/json': { schema }, [GEO_JSON]: { schema: tripFeaturesSchema }, ...CSV_CONTENT },
  }
}

const encoder = new TextEncoder()

/** Generates a list of trips and stops as JSON, chunk by chunk. */
async function* tripListTexts(
  lists: readonly FoundTrips[],
  order: ListOrder,
  summary: object,
): AsyncGenerator<Uint8Array> {
  yield encoder.encode('{"trips":[')
  yield* mergedItems(
    lists.map(({ trips }) => trips),
    order,
  )
  yield encoder.encode('],"stops":[')
  yield* mergedItems(
    lists.map(({ stops }) => stops),
    order,
  )
  yield encoder.encode(`],"summary":${JSON.stringify(summary)}}`)
}

/** Sends a list of trips and stops, merged in the requested order; includes a device count for several. */
export function streamTripList(
  c: Context,
  lists: readonly FoundTrips[],
  { config, order }: { config: TripConfig; order: ListOrder },
  more: { devicesQueried?: number; warnings?: string[] } = {},
): never {
  const sums = lists.map((list) => list.sums)
  const { configUsed, ...figures } = toTotalsJson(sums, config)
  const texts = tripListTexts(lists, order, { ...figures, ...more, configUsed })
  return streamed(c, ReadableStream.from(texts), { 'content-type': 'application/json' })
}

const TRIP_COLUMNS = csvColumns(tripSchema)
const NO_TRIPS = encoder.encode(csvHeader(TRIP_COLUMNS))

/** Sends the trips of such a list as CSV, in a file with this name and the extension added. */
export function streamTripTable(c: Context, lists: readonly FoundTrips[], order: ListOrder, file: string): never {
  const texts = tripTableTexts(
    lists.map(({ trips }) => trips),
    order,
  )
  c.header('content-disposition', attachment(`${file}.csv`))
  return streamed(c, ReadableStream.from(texts), { 'content-type': CSV_TYPE })
}

async function* tripTableTexts(lists: readonly FoundTrips['trips'][], order: ListOrder): AsyncGenerator<Uint8Array> {
  yield NO_TRIPS
  const decoder = new TextDecoder()
  for await (const piece of mergedItems(lists, order)) {
    // whole items with commas between them, and a trailing comma in each chunk except the last
    const rows: unknown[] = JSON.parse(`[${decoder.decode(piece).replace(/,$/, '')}]`)
    yield encoder.encode(csvLines(TRIP_COLUMNS, rows))
  }
}

type TripFormat = 'json' | 'geojson' | 'csv'

/** Returns the requested format of a trip list. Throws `invalid_parameter` for descending GeoJSON. */
export function tripFormat(
  c: Context,
  { format, order }: { format?: TripFormat | undefined; order: ListOrder },
): TripFormat {
  const wanted = format ?? acceptedFormat(c, ['json', 'geojson', 'csv'])
  if (wanted === 'geojson' && order === 'desc')
    throw invalidQuery({ name: 'order', code: 'invalid_parameter', detail: 'GeoJSON supports only the order asc' })
  return wanted
}

/** Sends GeoJSON, in a file with this name and the extension added. */
export function streamMap(c: Context, texts: AsyncIterable<Uint8Array>, file: string): never {
  c.header('content-disposition', attachment(`${file}.geojson`))
  return streamed(c, ReadableStream.from(texts), { 'content-type': GEO_JSON })
}

interface ActiveTripQuery {
  config: TripConfig
  maxAgeSeconds: number
  lookbackSeconds: number
}

export function activeTripQuery(
  from: TripConfigChoice & Omit<ActiveTripQuery, 'config'>,
  defaults: TripConfig,
): ActiveTripQuery {
  const { maxAgeSeconds, lookbackSeconds } = from
  return { config: tripConfigOf(from, defaults), maxAgeSeconds, lookbackSeconds }
}

export function toActiveTripsJson(
  activeTrips: ActiveTripJson[],
  devicesQueried: number,
  { config: configUsed, maxAgeSeconds, lookbackSeconds }: ActiveTripQuery,
) {
  const summary = {
    activeCount: activeTrips.length,
    devicesQueried,
    configUsed,
    maxAgeSeconds,
    lookbackSeconds,
  }
  return { activeTrips, summary }
}

export function toDeviceActiveTripJson(
  hardwareId: string,
  activeTrip: ActiveTripJson | undefined,
  { config: configUsed, maxAgeSeconds, lookbackSeconds }: ActiveTripQuery,
) {
  return {
    hardware_id: hardwareId,
    active: activeTrip !== undefined,
    ...(activeTrip === undefined ? {} : { activeTrip }),
    summary: { configUsed, maxAgeSeconds, lookbackSeconds },
  }
}

/** Throws `too_many_devices` if there are more than `max`. */
export function requireFewDevices(devices: readonly unknown[], max = TRIP_DEVICES_MAX): void {
  if (devices.length <= max) return
  const detail = `at most ${max} devices are allowed`
  throw invalidQuery({ name: 'hardware_ids', code: 'too_many_devices', detail })
}

/** Checks the length of a range for trip detection. Source: spec 4.5 rule 6. */
export function requireTripRange(fromMs: number, toMs: number): TripRange {
  requireOrder(fromMs, toMs)
  if (toMs - fromMs > TRIP_RANGE_MAX_MS) {
    const days = TRIP_RANGE_MAX_MS / DAY_MS
    throw invalidQuery({ name: 'to', code: 'range_too_large', detail: `to must be at most ${days} days after from` })
  }
  return { fromMs, toMs }
}

/** Range of a summary: a local day, or `from` and `to`, else the last 24 hours. */
export function summaryRange(
  { from, to, date }: { from?: number | undefined; to?: number | undefined; date?: string | undefined },
  timeZone: TimeZone,
  nowMs: number,
): TripRange {
  if (date !== undefined) return dayRange(date, timeZone, from !== undefined || to !== undefined)
  if (from === undefined && to === undefined) return { fromMs: nowMs - DAY_MS, toMs: nowMs }
  if (from !== undefined && to !== undefined) return requireTripRange(from, to)
  const name = from === undefined ? 'from' : 'to'
  throw invalidQuery({ name, code: 'missing_parameter', detail: 'from and to must be given together' })
}

/** Range of a local day. Throws `invalid_date` and `invalid_range`. */
export function dayRange(date: string, timeZone: TimeZone, hasRange: boolean): TripRange {
  if (!isCalendarDate(date))
    throw invalidQuery({ name: 'date', code: 'invalid_date', detail: 'must be a date, such as 2026-05-01' })
  if (hasRange) throw invalidQuery({ name: 'date', code: 'invalid_range', detail: 'replaces from and to: omit them' })
  const { fromMs, untilMs } = timeZone.day(date)
  return { fromMs, toMs: untilMs - 1 }
}
