import type { Context } from 'hono'
import { accepts } from 'hono/accepts'
import { z } from 'zod'
import { recordId, recordIdPrefix, type TelemetryStream } from '#shared/ids.ts'
import { toIso } from '#shared/time.ts'
import { wholeNumber } from '#shared/wire/params.ts'
import {
  gpsFeaturesSchema,
  HISTORY_LIMIT_MAX,
  type HistoryFormat,
  historyQuerySchema,
} from '#shared/wire/telemetry.ts'
import { invalidQuery, requireOrder } from './api-env.ts'
import { problems } from './responses.ts'
import { route } from './route.ts'

export type HistoryQuery = z.infer<ReturnType<typeof historyQuerySchema<HistoryFormat>>>

const MEDIA_TYPES = {
  json: 'application/json',
  csv: 'text/csv',
  ndjson: 'application/x-ndjson',
  gpx: 'application/gpx+xml',
  geojson: 'application/geo+json',
} as const satisfies Record<HistoryFormat, string>

/** The content type of what is handed out as a file. Source for `header`: RFC 4180 3. */
const FILE_TYPES: Record<Exclude<HistoryFormat, 'json'>, string> = {
  csv: `${MEDIA_TYPES.csv}; charset=utf-8; header=present`,
  ndjson: `${MEDIA_TYPES.ndjson}; charset=utf-8`,
  gpx: `${MEDIA_TYPES.gpx}; charset=utf-8`,
  // RFC 7946 has no parameters for it
  geojson: MEDIA_TYPES.geojson,
}

const DEFAULT_LIMIT = 100
const limitParam = wholeNumber(1, HISTORY_LIMIT_MAX)

/** The route of the records of a device; `devicePath` has the parameters of `params`. */
export function historyRoute<
  DevicePath extends string,
  Params extends z.ZodObject,
  Stream extends TelemetryStream,
  Schema extends z.ZodType,
  Format extends HistoryFormat,
>(
  devicePath: DevicePath,
  params: Params,
  stream: Stream,
  schema: Schema,
  formats: readonly Format[],
  texts: { description: string; records: string },
) {
  const files = formats.filter((format) => format !== 'json')
  return route.get(`${devicePath}/${stream}`, `List ${stream === 'gps' ? 'GPS' : 'battery'} records`, {
    description: `${texts.description}: ${files.join(', ')}.`,
    request: { params, query: historyQuerySchema(formats) },
    responses: {
      200: { description: texts.records, content: historyContent(schema, formats) },
      ...problems(400, 403, 404),
    },
  })
}

function historyContent(schema: z.ZodType, formats: readonly HistoryFormat[]) {
  const files = formats.filter((format) => format !== 'json')
  return {
    'application/json': { schema: z.array(schema) },
    ...Object.fromEntries(files.map((format) => [MEDIA_TYPES[format], { schema: fileSchema(format) }])),
  }
}

/** The headers of a history; `file` is its name without an ending. */
export function historyHeaders(format: HistoryFormat, file: string): Record<string, string> {
  if (format === 'json') return { 'content-type': MEDIA_TYPES.json }
  return {
    'content-type': FILE_TYPES[format],
    'content-disposition': `attachment; filename="${file}.${format}"`,
  }
}

function fileSchema(format: HistoryFormat): z.ZodType {
  return format === 'geojson' ? gpsFeaturesSchema : z.string()
}

/** What a record begins with as JSON. */
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

/** The form a history is wanted in. */
export function acceptedFormat(c: Context, formats: readonly HistoryFormat[]): HistoryFormat {
  const supports = formats.map((format) => MEDIA_TYPES[format])
  const type = accepts(c, { header: 'Accept', supports, default: MEDIA_TYPES.json })
  return formats.find((format) => MEDIA_TYPES[format] === type) ?? 'json'
}

/** Which records are asked for; of the newest there may be a limit. Source: spec 4.3 rules 1 to 3. */
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
  // from and to win: limit is ignored then, even an invalid one
  return { fromMs: from, toMs: to, limit: Number.MAX_SAFE_INTEGER }
}

function parseLimit(text: HistoryQuery['limit']): number {
  if (text === undefined) return DEFAULT_LIMIT
  const limit = limitParam.safeParse(text)
  if (limit.success) return limit.data
  throw invalidQuery({
    name: 'limit',
    code: 'invalid_number',
    detail: `must be a whole number from 1 to ${HISTORY_LIMIT_MAX}`,
  })
}
