import { createRoute, type OpenAPIHono } from '@hono/zod-openapi'
import { z } from 'zod'
import { type FieldError, InvalidRequestError, NotFoundError } from '../../shared/errors.ts'
import { recordId, recordIdPrefix, type TelemetryStream } from '../../shared/ids.ts'
import { toIso } from '../../shared/time.ts'
import { wholeNumber } from '../../shared/wire/params.ts'
import {
  batteryRecordSchema,
  gpsRecordSchema,
  HISTORY_LIMIT_MAX,
  historyQuerySchema,
  telemetryStatsSchema,
} from '../../shared/wire/telemetry.ts'
import type { Devices } from '../services/devices.ts'
import type { Device, Fleet } from '../services/fleet.ts'
import type { QueuedMessage } from '../services/ingest.ts'
import type { HistoryPageRequest } from '../store/history-page.ts'
import type { Store } from '../store/store.ts'
import { type ApiEnv, createApi } from './api-env.ts'
import { adminOnly } from './guards.ts'
import { streamHistory } from './history-stream.ts'
import { json, problems } from './responses.ts'

interface TelemetryApiDeps {
  fleet: Fleet
  devices: Devices
  store: Pick<Store<QueuedMessage>, 'read'>
}

const idParams = z.object({ id: z.string().meta({ description: 'hardware_id or short_id' }) })
const JSON_HEADERS = { 'content-type': 'application/json' }
const DEFAULT_LIMIT = 100
const limitParam = wholeNumber(1, HISTORY_LIMIT_MAX)

/** GPS and battery history of a device, and the newest record of each. */
export function createTelemetryApi({ fleet, devices, store }: TelemetryApiDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()

  api.openapi(historyRoute('gps', gpsRecordSchema), async (c) => {
    const device = devices.requireVisible(c.var.user.caller, c.req.valid('param').id)
    const request = pageRequest('gps', device, c.req.valid('query'))
    return typedStream(c.body(await streamHistory(store.read.historyPage, request), 200, JSON_HEADERS))
  })

  api.openapi(historyRoute('battery', batteryRecordSchema), async (c) => {
    const device = devices.requireVisible(c.var.user.caller, c.req.valid('param').id)
    const request = pageRequest('battery', device, c.req.valid('query'))
    return typedStream(c.body(await streamHistory(store.read.historyPage, request), 200, JSON_HEADERS))
  })

  api.openapi(
    createRoute({
      method: 'get',
      path: '/devices/{id}/gps/latest',
      request: { params: idParams },
      responses: { 200: json(gpsRecordSchema, 'The newest GPS record.'), ...problems(403, 404) },
    }),
    (c) => {
      const device = devices.requireVisible(c.var.user.caller, c.req.valid('param').id)
      const { gps } = device.reported
      if (gps === null) throw noTelemetry('GPS')
      const { atMs, lat, long, speedKmh } = gps
      return c.json(
        { ...recordHead('gps', device, atMs), lat, long, ...(speedKmh === null ? {} : { speed: speedKmh }) },
        200,
      )
    },
  )

  api.openapi(
    createRoute({
      method: 'get',
      path: '/devices/{id}/battery/latest',
      request: { params: idParams },
      responses: { 200: json(batteryRecordSchema, 'The newest battery record.'), ...problems(403, 404) },
    }),
    (c) => {
      const device = devices.requireVisible(c.var.user.caller, c.req.valid('param').id)
      const { battery } = device.reported
      if (battery === null) throw noTelemetry('battery')
      return c.json(
        { ...recordHead('battery', device, battery.atMs), battery_voltage: battery.voltageV },
        200,
      )
    },
  )

  api.openapi(
    createRoute({
      method: 'get',
      path: '/devices/{id}/telemetry/stats',
      middleware: [adminOnly] as const,
      request: { params: idParams },
      responses: { 200: json(telemetryStatsSchema, 'Records kept of the device.'), ...problems(403, 404) },
    }),
    (c) => {
      const { row } = fleet.require(c.req.valid('param').id)
      const { gps, battery } = store.read.deviceCounts(row.deviceId)
      return c.json({ hardware_id: row.hardwareId, gps: gps.count, battery: battery.count }, 200)
    },
  )

  return api
}

function historyRoute<Stream extends TelemetryStream, Schema extends z.ZodType>(
  stream: Stream,
  schema: Schema,
) {
  return createRoute({
    method: 'get',
    path: `/devices/{id}/${stream}`,
    request: { params: idParams, query: historyQuerySchema },
    responses: {
      200: json(z.array(schema), 'Records, newest first unless told.'),
      ...problems(400, 403, 404),
    },
  })
}

// the text of the stream is what the route's schema says; the types only know values
function typedStream(response: Response): never {
  return response as never
}

type HistoryQuery = z.infer<typeof historyQuerySchema>

/** The history rules. Source: spec 4.3 rules 1 to 3. */
function pageRequest(stream: TelemetryStream, { row }: Device, query: HistoryQuery): HistoryPageRequest {
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

function parseLimit(text: string | undefined): number {
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

function recordHead(stream: TelemetryStream, { row }: Device, atMs: number) {
  return {
    _id: recordId(recordIdPrefix(row.hardwareId, stream), atMs),
    device_id: row.shortId,
    hardware_id: row.hardwareId,
    timestamp: toIso(atMs),
  }
}

function noTelemetry(kind: string): NotFoundError {
  return new NotFoundError('no_telemetry', `the device has no ${kind} telemetry`)
}
