import { createRoute, type OpenAPIHono } from '@hono/zod-openapi'
import type { Context } from 'hono'
import { z } from 'zod'
import { type FieldError, InvalidRequestError } from '../../shared/errors.ts'
import type { TelemetryStream } from '../../shared/ids.ts'
import { deviceIdParams, wholeNumber } from '../../shared/wire/params.ts'
import {
  BATTERY_FORMATS,
  batteryRecordSchema,
  GPS_FORMATS,
  gpsFeaturesSchema,
  gpsRecordSchema,
  HISTORY_LIMIT_MAX,
  type HistoryFormat,
  historyQuerySchema,
} from '../../shared/wire/telemetry.ts'
import { historyFrame } from '../domain/history-text.ts'
import type { Devices } from '../services/devices.ts'
import type { Device } from '../services/fleet.ts'
import type { QueuedMessage } from '../services/ingest.ts'
import type { HistoryPageRequest } from '../store/history-page.ts'
import type { JobOptions } from '../store/reader-pool.ts'
import type { Store } from '../store/store.ts'
import { acceptedType } from './accept.ts'
import { type ApiEnv, createApi } from './api-env.ts'
import { streamHistory } from './history-stream.ts'
import { problems } from './responses.ts'

interface HistoryApiDeps {
  devices: Devices
  store: Pick<Store<QueuedMessage>, 'readers'>
}

type HistoryQuery = z.infer<ReturnType<typeof historyQuerySchema<HistoryFormat>>>

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

/** GPS and battery history of a device: JSON for programs, the same records as files for people. */
export function createHistoryApi({ devices, store }: HistoryApiDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()

  async function answer(
    c: Context<ApiEnv>,
    stream: TelemetryStream,
    id: string,
    query: HistoryQuery,
    formats: readonly HistoryFormat[],
  ): Promise<never> {
    const device = devices.requireVisible(c.var.user.caller, id)
    const format = query.format ?? acceptedFormat(c.req.header('accept'), formats)
    const request = { ...pageRequest(stream, device, query), format }
    const ask = { owner: c.var.user.caller.userId, signal: c.req.raw.signal }
    if (format === 'gpx') await writeForward(request, ask)
    const { hardwareId, name } = device.row
    const frame = historyFrame(format, stream, name ?? hardwareId)
    const readPage = (page: HistoryPageRequest) =>
      store.readers.run('historyPage', page, { ...ask, isPartOfLongRead: page.previousMs !== null })
    const text = await streamHistory(readPage, request, frame)
    c.header('vary', 'Accept', { append: true })
    if (format === 'json') c.header('content-type', MEDIA_TYPES.json)
    else {
      c.header('content-type', FILE_TYPES[format])
      // a hardware id has no character that a file name or this header could not hold
      c.header('content-disposition', `attachment; filename="${stream}-${hardwareId}.${format}"`)
    }
    return typedStream(c.body(text, 200))
  }

  /** A track has one direction: the records that were chosen, newest first or not, are written oldest first. */
  async function writeForward(
    request: Omit<HistoryPageRequest, 'previousMs'>,
    ask: JobOptions,
  ): Promise<void> {
    const { order, deviceId, limit } = request
    if (order === 'asc') return
    request.order = 'asc'
    if (limit > HISTORY_LIMIT_MAX) return
    request.fromMs = await store.readers.run('startOfNewest', { deviceId, count: limit }, ask)
  }

  api.openapi(historyRoute('gps', gpsRecordSchema, GPS_FORMATS), (c) =>
    answer(c, 'gps', c.req.valid('param').id, c.req.valid('query'), GPS_FORMATS),
  )

  api.openapi(historyRoute('battery', batteryRecordSchema, BATTERY_FORMATS), (c) =>
    answer(c, 'battery', c.req.valid('param').id, c.req.valid('query'), BATTERY_FORMATS),
  )

  return api
}

function historyRoute<Stream extends TelemetryStream, Schema extends z.ZodType, Format extends HistoryFormat>(
  stream: Stream,
  schema: Schema,
  formats: readonly Format[],
) {
  const files = formats.filter((format) => format !== 'json')
  return createRoute({
    method: 'get',
    path: `/devices/{id}/${stream}`,
    summary: `List ${stream === 'gps' ? 'GPS' : 'battery'} records`,
    description: `The newest records, or all between from and to, however many: the answer is streamed. As a file with Accept or format: ${files.join(', ')}.`,
    request: { params: deviceIdParams, query: historyQuerySchema(formats) },
    responses: {
      200: {
        description: 'Records, newest first unless told.',
        content: {
          'application/json': { schema: z.array(schema) },
          ...Object.fromEntries(files.map((format) => [MEDIA_TYPES[format], { schema: fileSchema(format) }])),
        },
      },
      ...problems(400, 403, 404),
    },
  })
}

function fileSchema(format: HistoryFormat): z.ZodType {
  return format === 'geojson' ? gpsFeaturesSchema : z.string()
}

function acceptedFormat(accept: string | undefined, formats: readonly HistoryFormat[]): HistoryFormat {
  const type = acceptedType(
    accept,
    formats.map((format) => MEDIA_TYPES[format]),
  )
  return formats.find((format) => MEDIA_TYPES[format] === type) ?? 'json'
}

// the text of the stream is what the route's schema says; the types only know values
function typedStream(response: Response): never {
  return response as never
}

/** The history rules. Source: spec 4.3 rules 1 to 3. */
function pageRequest(stream: TelemetryStream, { row }: Device, query: HistoryQuery) {
  const { deviceId, hardwareId, shortId } = row
  const { from, to, order } = query
  const owner = { stream, deviceId, hardwareId, shortId, order }
  if (from === undefined && to === undefined) {
    return { ...owner, fromMs: 0, toMs: Number.MAX_SAFE_INTEGER, limit: parseLimit(query.limit) }
  }
  if (from === undefined || to === undefined) {
    const name = from === undefined ? 'from' : 'to'
    throw invalidQuery({ name, code: 'missing_parameter', detail: 'from and to must be given together' })
  }
  if (from > to)
    throw invalidQuery({ name: 'from', code: 'invalid_range', detail: 'from must not be after to' })
  // from and to win: limit is ignored then, even an invalid one
  return { ...owner, fromMs: from, toMs: to, limit: Number.MAX_SAFE_INTEGER }
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

function invalidQuery(error: Omit<FieldError, 'in'>): InvalidRequestError {
  return new InvalidRequestError(error.code, `${error.name}: ${error.detail}`, [{ in: 'query', ...error }])
}
