import type { Context } from 'hono'
import { accepts } from 'hono/accepts'
import { z } from 'zod'
import { recordId, recordIdPrefix, type TelemetryStream } from '#shared/ids.ts'
import { toIso } from '#shared/time.ts'
import { GIVEN_TWICE } from '#shared/wire/schema/field-errors.ts'
import { wholeNumber } from '#shared/wire/schema/params.ts'
import {
  BATTERY_FORMATS,
  batteryHistoryQuerySchema,
  batteryRecordSchema,
  GPS_FORMATS,
  gpsFeaturesSchema,
  gpsHistoryQuerySchema,
  gpsRecordSchema,
  HISTORY_LIMIT_MAX,
  type HistoryFormat,
} from '#shared/wire/telemetry.ts'
import { invalidQuery, requireOrder } from './api-env.ts'
import { attachment } from './attachment.ts'
import { CSV_TYPE } from './csv.ts'
import { answers, problems } from './responses.ts'
import { route } from './route.ts'

export type HistoryQuery = z.infer<typeof gpsHistoryQuerySchema>

const MEDIA_TYPES = {
  json: 'application/json',
  csv: 'text/csv',
  ndjson: 'application/x-ndjson',
  gpx: 'application/gpx+xml',
  geojson: 'application/geo+json',
} as const satisfies Record<HistoryFormat, string>

const FILE_TYPES: Record<Exclude<HistoryFormat, 'json'>, string> = {
  csv: CSV_TYPE,
  ndjson: `${MEDIA_TYPES.ndjson}; charset=utf-8`,
  gpx: `${MEDIA_TYPES.gpx}; charset=utf-8`,
  // RFC 7946 defines no parameters
  geojson: MEDIA_TYPES.geojson,
}

const DEFAULT_LIMIT = 100
const limitParam = wholeNumber(1, HISTORY_LIMIT_MAX)

/** Telemetry streams, in the order of the documentation. */
export const TELEMETRY_STREAMS = ['gps', 'battery'] as const satisfies TelemetryStream[]
const RECORDS = {
  gps: { name: 'GPS', query: gpsHistoryQuerySchema, schema: gpsRecordSchema, formats: GPS_FORMATS },
  battery: {
    name: 'battery',
    query: batteryHistoryQuerySchema,
    schema: batteryRecordSchema,
    formats: BATTERY_FORMATS,
  },
} as const

/** Route of the records of a device; `devicePath` contains the parameters of `params`. */
export function historyRoute<DevicePath extends string, Params extends z.ZodObject>(
  devicePath: DevicePath,
  params: Params,
  stream: TelemetryStream,
) {
  const { name, query, schema, formats } = RECORDS[stream]
  const files = formats.filter((format) => format !== 'json')
  return route.get(`${devicePath}/${stream}`, `List ${name} records`, {
    description:
      'Latest records, or all records between from and to; the response is streamed, so their number is not ' +
      `limited. Accept or format selects a file format: ${files.join(', ')}.`,
    request: { params, query },
    responses: {
      200: {
        description: 'Records, newest first unless order is given.',
        content: {
          'application/json': { schema: z.array(schema) },
          ...Object.fromEntries(files.map((format) => [MEDIA_TYPES[format], { schema: fileSchema(format) }])),
        },
      },
      ...problems(400, 403, 404),
    },
  })
}

/** Route of the latest record of a device; `devicePath` contains the parameters of `params`. */
export function latestRoute<DevicePath extends string, Params extends z.ZodObject, Stream extends TelemetryStream>(
  devicePath: DevicePath,
  params: Params,
  stream: Stream,
) {
  return route.get(`${devicePath}/${stream}/latest`, `Get the newest ${stream} record`, {
    request: { params },
    responses: answers(RECORDS[stream].schema, `Latest ${stream} record.`, 403, 404),
  })
}

export function historyFormat(c: Context, stream: TelemetryStream, { format }: HistoryQuery): HistoryFormat {
  return format ?? acceptedFormat(c, RECORDS[stream].formats)
}

/** Returns the headers of a history; `file` is its name without an extension. */
export function historyHeaders(format: HistoryFormat, file: string): Record<string, string> {
  if (format === 'json') return { 'content-type': MEDIA_TYPES.json }
  return {
    'content-type': FILE_TYPES[format],
    'content-disposition': attachment(`${file}.${format}`),
  }
}

function fileSchema(format: HistoryFormat): z.ZodType {
  return format === 'geojson' ? gpsFeaturesSchema : z.string()
}

/** Returns the leading JSON fields of a record. */
export function recordHead(
  stream: TelemetryStream,
  { hardwareId, shortId }: { hardwareId: string; shortId: string },
  atMs: number,
) {
  return {
    _id: recordId(recordIdPrefix(hardwareId, stream), atMs),
    device_id: shortId,
    hardware_id: hardwareId,
    timestamp: toIso(atMs),
  }
}

/** Returns the requested format, from the query or the `Accept` header. */
export function acceptedFormat<Format extends HistoryFormat>(
  c: Context,
  formats: readonly ('json' | Format)[],
): 'json' | Format {
  const supports = formats.map((format) => MEDIA_TYPES[format])
  const type = accepts(c, { header: 'Accept', supports, default: MEDIA_TYPES.json })
  return formats.find((format) => MEDIA_TYPES[format] === type) ?? 'json'
}

/** Returns the requested range; `limit` applies only to the latest records. Source: spec 4.3 rules 1 to 3. */
export function historyRange({ from, to, limit }: HistoryQuery): {
  fromMs: number
  toMs: number
  limit: number
} {
  if (from === undefined && to === undefined) {
    return { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER, limit: parseLimit(limit) }
  }
  if (from === undefined || to === undefined) {
    const name = from === undefined ? 'from' : 'to'
    throw invalidQuery({ name, code: 'missing_parameter', detail: 'from and to must be given together' })
  }
  requireOrder(from, to)
  // `from` and `to` take precedence: `limit` is ignored then, even an invalid one
  return { fromMs: from, toMs: to, limit: Number.MAX_SAFE_INTEGER }
}

function parseLimit(text: HistoryQuery['limit']): number {
  if (text === undefined) return DEFAULT_LIMIT
  if (Array.isArray(text)) throw invalidQuery({ name: 'limit', code: 'invalid_parameter', detail: GIVEN_TWICE })
  const limit = limitParam.safeParse(text)
  if (limit.success) return limit.data
  throw invalidQuery({
    name: 'limit',
    code: 'invalid_number',
    detail: `must be a whole number from 1 to ${HISTORY_LIMIT_MAX}`,
  })
}
